//! Configuration of HAProxy.

use weir_config::lab::Scheme;

use super::{Assignment, CIPHER, HOST};

/// Returns a configuration in which clients share kept connections. Its limits have room for the lab's
/// connections.
pub(super) fn config(assignment: &Assignment<'_>) -> String {
    let Assignment { bind, workers, check, .. } = assignment;
    let algorithm = match assignment.scheme {
        Scheme::RoundRobin => "roundrobin",
        Scheme::LeastConnections => "leastconn",
        Scheme::Source => "source",
        Scheme::Random => "random",
    };
    let tls_in = assignment.tls_in.map_or_else(String::new, |certificate| {
        format!(" ssl crt {} ssl-min-ver TLSv1.3 ciphersuites {CIPHER} alpn http/1.1", certificate.display())
    });
    let tls_out = assignment.tls_out.map_or_else(String::new, |authority| {
        format!(
            " ssl ssl-min-ver TLSv1.3 ciphersuites {CIPHER} verify required verifyhost {HOST} sni str({HOST}) ca-file {}",
            authority.display()
        )
    });
    let (checks, checked) = match check.is_empty() {
        true => (String::new(), ""),
        false => {
            let send = format!("  http-check send meth GET uri {check} ver HTTP/1.1 hdr Host {HOST}\n");
            (format!("  option httpchk\n{send}"), " check inter 2s")
        }
    };
    let servers = super::each(
        assignment,
        |weight| format!(" weight {weight}"),
        |name, address, weight| format!("  server {name} {address}{weight}{checked}{tls_out}\n"),
    );
    format!(
        "global
  nbthread {workers}
  maxconn 30000
  no strict-limits
defaults
  mode http
  option forwardfor
  http-reuse always
  retries 2
  option redispatch 1
  retry-on conn-failure empty-response response-timeout
  timeout connect 3s
  timeout http-request 10s
  timeout http-keep-alive 75s
  timeout client 60s
  timeout server 60s
frontend web
  bind {bind} backlog 4096{tls_in}
  default_backend servers
backend servers
  balance {algorithm}
  http-request disable-l7-retry unless METH_GET
{checks}{servers}"
    )
}
