//! Configuration of Pound.

use weir_config::lab::Scheme;

use super::Assignment;

/// Returns a configuration of Pound 4, which uses a thread per connection. It checks only servers that are
/// down, and does not verify certificates of servers. If it cannot connect to a server, it marks it as down
/// and tries the next one. It does not retry requests that were sent without a response.
pub(super) fn config(assignment: &Assignment<'_>) -> String {
    let bind = assignment.bind;
    let balance = if assignment.scheme == Scheme::RoundRobin { "iwrr" } else { "random" };
    let (listener, tls_in) = match assignment.tls_in {
        None => ("ListenHTTP", String::new()),
        Some(pem) => ("ListenHTTPS", format!("  Cert \"{}\"\n  Disable TLSv1_2\n", pem.display())),
    };
    let servers = super::each(
        assignment,
        |weight| format!("      Priority {weight}\n"),
        |_, address, weight| {
            let (ip, port) = (address.ip(), address.port());
            format!("    Backend\n      Address {ip}\n      Port {port}\n{weight}    End\n")
        },
    );
    format!(
        "Daemon 0
LogLevel 0
WorkerMinCount 64
WorkerMaxCount 2048
TimeOut 60
{listener}
  Address {ip}
  Port {port}
  xHTTP 3
{tls_in}  Service
    Balancer {balance}
{servers}  End
End
",
        ip = bind.ip(),
        port = bind.port(),
    )
}
