use std::process::Command;

use super::Assignment;
use crate::error::Result;
use crate::workshop::{CIPHER, HOST};

/// One thread per worker, every server connection shared among clients, deferred accept. Its limits leave room for the idle
/// connections; strict limits would refuse them where a hard limit on open files is not twice as high.
pub(super) fn configure(command: &mut Command, assignment: &Assignment<'_>, splice: bool) -> Result<()> {
    let config = assignment.workshop.write("haproxy.cfg", &config(assignment, splice))?;
    command.arg("-db").arg("-f").arg(config);
    Ok(())
}

fn config(assignment: &Assignment<'_>, splice: bool) -> String {
    let Assignment { workshop, setup, bind, servers, health } = assignment;
    let tls_in = if setup.tls_in {
        format!(" ssl crt {} alpn http/1.1", workshop.certificate().display())
    } else {
        String::new()
    };
    let tls_out = if setup.tls_out {
        let authority = workshop.authority();
        format!(" ssl verify required verifyhost {HOST} sni str({HOST}) ca-file {}", authority.display())
    } else {
        String::new()
    };
    let splice = if splice { "  option splice-response\n" } else { "" };
    // Standard output is a file here: a datagram socket would need a reader on the load's core.
    let (log_global, log_default) = if setup.access_log {
        ("log stdout format raw local0", "  log global\n  option httplog\n")
    } else {
        ("", "")
    };
    let mut text = format!(
        "global
  nbthread {workers}
  maxconn 12000
  maxpipes 512
  no strict-limits
  {log_global}
  ssl-default-bind-options ssl-min-ver TLSv1.3
  ssl-default-bind-ciphersuites {CIPHER}
  ssl-default-server-ciphersuites {CIPHER}
defaults
  mode http
{splice}{log_default}  option forwardfor
  http-reuse always
  timeout connect 3s
  timeout http-request 10s
  timeout http-keep-alive {idle}s
  timeout client 60s
  timeout server 60s
  timeout queue 1s
frontend web
  bind {bind} defer-accept backlog 4096{tls_in}
  default_backend web
backend web
  balance leastconn
  option httpchk
  http-check send meth GET uri {health} ver HTTP/1.1 hdr Host {HOST}
",
        workers = setup.workers,
        idle = setup.client_idle_s,
    );
    for (at, server) in servers.iter().enumerate() {
        text.push_str(&format!("  server s{at} {server} check inter 2s{tls_out}\n"));
    }
    text
}
