//! The web servers behind the balancers.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::Path;

use crate::error::Result;
use crate::process::{Cores, Process};
use crate::workshop::{HOST, Workshop, free_addresses};

/// Number of servers behind the balancer. All are one NGINX on the load's core, so that their cost is the
/// same for all contestants.
pub(crate) const SERVERS: usize = 3;

/// The web servers behind the balancers.
#[derive(Debug)]
pub(crate) struct Origin {
    pub(crate) plain: [SocketAddr; SERVERS],
    pub(crate) tls: [SocketAddr; SERVERS],
    process: Process,
}

impl Origin {
    /// Starts the servers and waits until they respond.
    pub(crate) fn start(workshop: &Workshop, nginx: &Path) -> Result<Self> {
        let addresses: [SocketAddr; 2 * SERVERS] = free_addresses()?;
        let mut plain = [addresses[0]; SERVERS];
        let mut tls = plain;
        plain.copy_from_slice(&addresses[..SERVERS]);
        tls.copy_from_slice(&addresses[SERVERS..]);

        let config = workshop.write("origin.conf", &config(workshop, &plain, &tls))?;
        let log = workshop.path("origin.log");
        let mut command = Cores::Load.command(nginx);
        command.arg("-p").arg(workshop.path("")).arg("-e").arg("stderr").arg("-c").arg(config);
        let mut process = Process::start("origin", &mut command, None, &log)?;
        process.wait_ready(plain[0], false, &log)?;
        Ok(Self { plain, tls, process })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Returns the addresses that a balancer is configured with.
    pub(crate) fn addresses(&self, tls: bool) -> &[SocketAddr; SERVERS] {
        if tls { &self.tls } else { &self.plain }
    }
}

fn config(workshop: &Workshop, plain: &[SocketAddr], tls: &[SocketAddr]) -> String {
    let mut listen = String::new();
    for address in plain {
        let _ = writeln!(listen, "    listen {address} backlog=16384;");
    }
    for address in tls {
        let _ = writeln!(listen, "    listen {address} ssl backlog=16384;");
    }
    let certificate = workshop.certificate();
    format!(
        "daemon off;
worker_processes 1;
worker_rlimit_nofile 65536;
user root;
pid origin.pid;
error_log stderr crit;
events {{ worker_connections 32768; }}
http {{
  access_log off;
  default_type application/octet-stream;
  sendfile on;
  sendfile_max_chunk 512k;
  tcp_nopush on;
  tcp_nodelay on;
  open_file_cache max=16;
  open_file_cache_valid 1h;
  keepalive_timeout 1h;
  keepalive_requests 1000000000;
  client_body_temp_path origin-body;
  proxy_temp_path origin-proxy;
  server {{
{listen}    server_name {HOST};
    root {files};
    ssl_certificate {certificate};
    ssl_certificate_key {certificate};
    ssl_protocols TLSv1.3;
    ssl_conf_command Ciphersuites {cipher};
    ssl_session_cache shared:origin:4m;
    location = /health {{ return 200; }}
  }}
}}
",
        files = workshop.path("files").display(),
        certificate = certificate.display(),
        cipher = crate::workshop::CIPHER,
    )
}
