use weir_config::lab::Scheme;

use super::{Assignment, HOST};

/// It routes by name: that of the certificates, and its own address. It has no active checks, and speaks no TLS with servers. By itself it
/// asks another server when it cannot connect to one; it has no rule for what was sent and not answered.
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
    let backends = super::each(assignment, |name, address| {
        format!("  {{ address = \"{address}\", backend_id = \"{name}\" }},\n")
    });
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
",
        socket = directory.join("sozu.sock"),
    )
}
