//! NGINX's configuration.

use std::process::Command;

use super::Assignment;
use crate::error::Result;
use crate::workshop::{CIPHER, HOST};

/// Configures one process per worker, kept server connections, buffers that suit the bodies, and deferred
/// accept. NGINX has no active checks.
pub(super) fn configure(command: &mut Command, assignment: &Assignment<'_>) -> Result<()> {
    let config = assignment.workshop.write("nginx.conf", &config(assignment))?;
    command.arg("-p").arg(assignment.workshop.path("")).arg("-e").arg("stderr").arg("-c").arg(config);
    Ok(())
}

fn config(assignment: &Assignment<'_>) -> String {
    let Assignment { workshop, setup, bind, servers, .. } = assignment;
    let servers: String = servers.iter().map(|server| format!("    server {server};\n")).collect();
    let certificate = workshop.certificate();
    let certificate = certificate.display();
    let ssl = if setup.tls_in { " ssl" } else { "" };
    let tls_in = if setup.tls_in {
        format!(
            "    ssl_certificate {certificate};
    ssl_certificate_key {certificate};
    ssl_protocols TLSv1.3;
    ssl_conf_command Ciphersuites {CIPHER};
    ssl_session_cache shared:web:4m;
"
        )
    } else {
        String::new()
    };
    let (scheme, tls_out) = if setup.tls_out {
        let authority = workshop.authority();
        let tls_out = format!(
            "      proxy_ssl_verify on;
      proxy_ssl_trusted_certificate {};
      proxy_ssl_name {HOST};
      proxy_ssl_server_name on;
      proxy_ssl_protocols TLSv1.3;
",
            authority.display()
        );
        ("https", tls_out)
    } else {
        ("http", String::new())
    };
    let access_log = if setup.access_log {
        format!("access_log {} combined buffer=64k flush=1s", workshop.path("access.log").display())
    } else {
        "access_log off".to_owned()
    };
    format!(
        "daemon off;
worker_processes {workers};
worker_rlimit_nofile 65536;
user root;
pid balancer.pid;
error_log stderr crit;
events {{ worker_connections 32768; }}
http {{
  {access_log};
  tcp_nodelay on;
  client_header_timeout 10s;
  client_body_timeout 60s;
  send_timeout 60s;
  keepalive_timeout {idle}s;
  keepalive_requests 1000000000;
  client_body_temp_path balancer-body;
  proxy_temp_path balancer-proxy;
  upstream web {{
    least_conn;
{servers}    keepalive 256;
    keepalive_requests 1000000000;
  }}
  server {{
    listen {bind}{ssl} deferred backlog=4096;
{tls_in}    location / {{
      proxy_pass {scheme}://web;
      proxy_http_version 1.1;
      proxy_set_header Connection \"\";
      proxy_set_header Host $host;
      proxy_set_header X-Forwarded-For $remote_addr;
      proxy_connect_timeout 3s;
      proxy_read_timeout 60s;
      proxy_send_timeout 60s;
      proxy_buffers {buffers};
      proxy_max_temp_file_size 0;
{tls_out}    }}
  }}
}}
",
        workers = setup.workers,
        idle = setup.client_idle_s,
        buffers = std::env::var("NGINX_BUFFERS").unwrap_or_else(|_| "8 8k".to_owned()),
    )
}
