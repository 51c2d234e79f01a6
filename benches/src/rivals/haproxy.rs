//! HAProxy's configuration.

use std::process::Command;

use super::Assignment;
use crate::error::Result;
use crate::workshop::{CIPHER, HOST};

/// Configures one thread per worker, server connections that all clients share, and deferred accept. The
/// limits leave room for the idle connections. Strict limits would refuse them unless the hard limit of open
/// files is twice as high.
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
    // Standard output is a file here. A datagram socket would need a reader on the load's core.
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
  default_backend servers
backend servers
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

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::net::SocketAddr;
    use std::path::Path;

    use super::*;
    use crate::scenario::Setup;
    use crate::workshop::Workshop;

    /// Returns the names of all proxies. Since version 3.3, HAProxy refuses two proxies with the same name;
    /// earlier versions warn.
    fn names_of_proxies(config: &str) -> Vec<&str> {
        let lines = config.lines().filter_map(|line| line.split_once(' '));
        lines
            .filter(|(kind, _)| ["frontend", "backend", "listen"].contains(kind))
            .map(|(_, name)| name)
            .collect()
    }

    #[test]
    fn every_setup_is_accepted_without_a_warning_and_names_no_two_proxies_alike() {
        let workshop = Workshop::open().unwrap();
        let servers: [SocketAddr; 2] = ["127.0.0.1:81".parse().unwrap(), "127.0.0.1:82".parse().unwrap()];
        let bind = "127.0.0.1:80".parse().unwrap();
        for (tls_in, tls_out) in [(false, false), (true, false), (true, true)] {
            for (access_log, splice) in [(false, false), (true, true)] {
                let setup = Setup { tls_in, tls_out, access_log, ..Setup::PLAIN };
                let assignment =
                    Assignment { workshop: &workshop, setup, bind, servers: &servers, health: "/" };
                let config = config(&assignment, splice);
                let names = names_of_proxies(&config);
                let different: HashSet<_> = names.iter().collect();
                assert_eq!((names.len(), different.len()), (2, 2), "{config}");
                let program = Path::new("/usr/sbin/haproxy");
                assert!(program.exists(), "haproxy is not installed: run `scripts/setup test`");
                let file = workshop.write("haproxy.cfg", &config).unwrap();
                // With -dW, warnings are errors.
                let output = Command::new(program).args(["-c", "-dW", "-f"]).arg(file).output().unwrap();
                assert!(output.status.success(), "{output:?}\n{config}");
            }
        }
    }
}
