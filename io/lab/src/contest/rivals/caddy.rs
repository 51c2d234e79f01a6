//! Configuration of Caddy.

use weir_config::lab::Scheme;

use super::{Assignment, HOST};

/// Returns a configuration for HTTP/1.1 only, because the load uses it, with kept connections to servers.
/// Retries requests that could not be sent, and every GET.
pub(super) fn config(assignment: &Assignment<'_>) -> String {
    let Assignment { bind, check, .. } = assignment;
    let policy = match assignment.scheme {
        Scheme::RoundRobin if !assignment.weights.is_empty() => {
            let weights: Vec<String> = assignment.weights.iter().map(u32::to_string).collect();
            format!("weighted_round_robin {}", weights.join(" "))
        }
        Scheme::RoundRobin => "round_robin".to_owned(),
        Scheme::LeastConnections => "least_conn".to_owned(),
        Scheme::Source => "ip_hash".to_owned(),
        Scheme::Random => "random".to_owned(),
    };
    let servers: Vec<String> = assignment.servers.iter().map(|(_, address)| address.to_string()).collect();
    let (scheme, tls_in) = match assignment.tls_in {
        None => ("http", String::new()),
        Some(pem) => {
            let pem = pem.display();
            ("https", format!("\ttls {pem} {pem} {{\n\t\tprotocols tls1.3\n\t}}\n"))
        }
    };
    let tls_out = assignment.tls_out.map_or_else(String::new, |authority| {
        format!(
            "\t\t\ttls\n\t\t\ttls_trusted_ca_certs {}\n\t\t\ttls_server_name {HOST}\n",
            authority.display()
        )
    });
    let checks = match check.is_empty() {
        true => String::new(),
        false => format!(
            "\t\thealth_uri {check}\n\t\thealth_interval 2s\n\t\thealth_headers {{\n\t\t\tHost {HOST}\n\t\t}}\n"
        ),
    };
    format!(
        "{{
\tadmin off
\tauto_https off
\tlog {{
\t\tlevel ERROR
\t}}
\tservers {{
\t\tprotocols h1
\t}}
}}
{scheme}://:{port} {{
\tbind {ip}
{tls_in}\treverse_proxy {servers} {{
\t\tlb_policy {policy}
\t\tlb_retries 2
{checks}\t\ttransport http {{
\t\t\tversions 1.1
\t\t\tkeepalive 75s
\t\t\tkeepalive_idle_conns_per_host 256
{tls_out}\t\t}}
\t}}
}}
",
        ip = bind.ip(),
        port = bind.port(),
        servers = servers.join(" "),
    )
}
