use weir_config::lab::Scheme;

use super::{Assignment, HOST};

/// Sozu 2 (version 1 has no active checks). It routes by name: that of the certificates, and its own address. It speaks no TLS with servers.
/// By itself it connects three times at most, to whichever server is next; it has no rule for what was sent and not answered.
pub(super) fn config(assignment: &Assignment<'_>) -> String {
    let Assignment { bind, workers, directory, .. } = assignment;
    let balance = match assignment.scheme {
        Scheme::RoundRobin => "ROUND_ROBIN",
        Scheme::LeastConnections => "LEAST_LOADED",
        Scheme::Source | Scheme::Random => "RANDOM",
    };
    let (protocol, pem) = match assignment.tls_in {
        None => ("http", String::new()),
        Some(pem) => (
            "https",
            format!(
                ", certificate = {pem:?}, key = {pem:?}, certificate_chain = {pem:?}, tls_versions = [\"TLS_V13\"]"
            ),
        ),
    };
    let names = [HOST.to_owned(), bind.ip().to_string()];
    let frontends: String = names
        .iter()
        .map(|name| format!("  {{ address = \"{bind}\", hostname = \"{name}\"{pem} }},\n"))
        .collect();
    let backends = super::each(
        assignment,
        |weight| format!(", weight = {weight}"),
        |name, address, weight| {
            format!("  {{ address = \"{address}\", backend_id = \"{name}\"{weight} }},\n")
        },
    );
    let checks = match assignment.check {
        "" => String::new(),
        check => format!("[clusters.web.health_check]\nuri = {check:?}\ninterval = 2\n"),
    };
    format!(
        "command_socket = {socket:?}
log_level = \"error\"
log_target = \"stdout\"
worker_count = {workers}
max_connections = 30000
max_buffers = 60000
activate_listeners = true
handle_process_affinity = false
[[listeners]]
protocol = \"{protocol}\"
address = \"{bind}\"
[clusters.web]
protocol = \"http\"
load_balancing = \"{balance}\"
frontends = [
{frontends}]
backends = [
{backends}]
{checks}",
        socket = directory.join("sozu.sock"),
    )
}
