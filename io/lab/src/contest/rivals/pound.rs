use weir_config::lab::Scheme;

use super::Assignment;

/// Pound 4: a thread for each connection. It looks only at servers that are down, and does not verify those over TLS. By itself it
/// asks the next server when it cannot connect to one, which it then counts as down; it has no rule for what was sent and not answered.
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
