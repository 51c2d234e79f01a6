//! File servers, each on the balancer's core.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::{Context, Error, Result};
use crate::process::{Cores, Process};
use crate::rivals::{Contestant, nginx_programs};
use crate::workshop::{CIPHER, Workshop, free_addresses};

/// A running file server.
pub(super) struct FileServer {
    pub(super) address: SocketAddr,
    pub(super) process: Process,
}

/// Settings of Weir that may differ from its defaults.
#[derive(Clone, Copy)]
pub(super) struct WeirSetup<'a> {
    pub(super) tls: bool,
    /// Value in the config.
    pub(super) checksums: &'a str,
    /// Value in the config.
    pub(super) durability: &'a str,
}

impl WeirSetup<'_> {
    /// The defaults.
    pub(super) const PLAIN: Self = Self { tls: false, checksums: "\"adler32\"", durability: "data" };
}

/// Creates a directory on a disk for files to serve. It contains the file for readiness checks and is removed
/// when dropped.
pub(super) fn root_on_disk() -> Result<tempfile::TempDir> {
    root_in(Path::new("/var/tmp"))
}

/// Creates one like [`root_on_disk`], in memory, so that no disk limits the measurement.
pub(super) fn root_in_memory() -> Result<tempfile::TempDir> {
    root_in(Path::new("/dev/shm"))
}

fn root_in(parent: &Path) -> Result<tempfile::TempDir> {
    let root = tempfile::Builder::new().prefix("weir-bench-files-").tempdir_in(parent);
    let root = root.context(parent.display())?;
    std::fs::write(root.path().join("health"), "").context(root.path().display())?;
    Ok(root)
}

/// Starts Weir with one storage area in which every client may do everything.
pub(super) fn start_weir(workshop: &Workshop, root: &Path, setup: WeirSetup<'_>) -> Result<FileServer> {
    let contestant = Contestant::weir()?;
    let [bind] = free_addresses()?;
    let tls = if setup.tls {
        let certificate = workshop.certificate();
        format!(
            "tls = {{ certificates = {certificate:?}, min-version = \"1.3\", ciphers = [\"{CIPHER}\"] }}\n"
        )
    } else {
        String::new()
    };
    let config = format!(
        "[weir]\nworkers = 1\ncontrol = {control:?}\nstate = false\n\n[listener.web]\nbind = \"{bind}\"\nstorage = \"files\"\n{tls}\n\
         [storage-area.files]\nroot = {root:?}\nchecksums = {checksums}\ndurability = \"{durability}\"\n\n\
         [[storage-area.files.access.policy]]\ndescription = \"everybody\"\neffect = \"permit\"\nactions = \"all\"\n\
         principals = {{ type = \"anyone\" }}\n",
        control = workshop.path("weir.sock"),
        checksums = setup.checksums,
        durability = setup.durability,
    );
    let mut command = Cores::Balancer.command(&contestant.program);
    command.arg("run").arg(workshop.write("weir.toml", &config)?);
    ready("weir", command, workshop, bind, if setup.tls { None } else { Some("/health") })
}

/// Starts NGINX with the same files, configured as its documentation recommends for file serving.
pub(super) fn start_nginx(workshop: &Workshop, root: &Path, tls: bool) -> Result<FileServer> {
    let program: PathBuf =
        nginx_programs().into_iter().next().ok_or_else(|| Error::new("no NGINX to compare with"))?;
    let [bind] = free_addresses()?;
    let (ssl, tls_keys) = nginx_tls(workshop, tls);
    let config = format!(
        "daemon off;
worker_processes 1;
user root;
pid files.pid;
error_log stderr crit;
events {{ worker_connections 4096; }}
http {{
  access_log off;
  default_type application/octet-stream;
  sendfile on;
  tcp_nopush on;
  tcp_nodelay on;
  open_file_cache max=1024;
  open_file_cache_valid 30s;
  keepalive_timeout 60s;
  keepalive_requests 1000000000;
  client_body_temp_path files-body;
  server {{
    listen {bind}{ssl} deferred backlog=4096;
{tls_keys}    root {root};
  }}
}}
",
        root = root.display(),
    );
    let config = workshop.write("files.conf", &config)?;
    let mut command = Cores::Balancer.command(&program);
    command.arg("-p").arg(workshop.path("")).arg("-e").arg("stderr").arg("-c").arg(config);
    ready("nginx", command, workshop, bind, if tls { None } else { Some("/health") })
}

/// Returns NGINX's TLS settings: the addition to `listen`, and further lines.
pub(super) fn nginx_tls(workshop: &Workshop, tls: bool) -> (&'static str, String) {
    if !tls {
        return ("", String::new());
    }
    let certificate = workshop.certificate();
    let certificate = certificate.display();
    let keys = format!(
        "    ssl_certificate {certificate};
    ssl_certificate_key {certificate};
    ssl_protocols TLSv1.3;
    ssl_conf_command Ciphersuites {CIPHER};
    ssl_session_cache shared:web:4m;
"
    );
    (" ssl", keys)
}

/// Starts a server and waits until a plain GET of `path` returns 200 or, without a path, until a connection
/// is accepted.
pub(super) fn ready(
    name: &str,
    mut command: std::process::Command,
    workshop: &Workshop,
    address: SocketAddr,
    path: Option<&str>,
) -> Result<FileServer> {
    let log = workshop.path("files.log");
    let mut process = Process::start(name, &mut command, None, &log)?;
    process.wait_ready_at(address, path, Duration::from_secs(10), &log)?;
    Ok(FileServer { address, process })
}
