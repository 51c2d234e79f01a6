//! Configuration of Sozu.

use rustix::process::{Resource, getrlimit};
use weir_config::lab::Scheme;

use super::{Assignment, HOST};

/// Maximum number of connections of the lab.
const CONNECTIONS: u64 = 30_000;

/// Returns a configuration of Sozu 2 (version 1 has no active checks). It routes by host name: the name in
/// the certificates, and its own address. It does not support TLS to servers. It tries to connect three times
/// at most, each time to the next server. It does not retry requests that were sent without a response.
pub(super) fn config(assignment: &Assignment<'_>) -> String {
    let Assignment { bind, workers, directory, .. } = assignment;
    let balance = match assignment.scheme {
        Scheme::RoundRobin => "ROUND_ROBIN",
        Scheme::LeastConnections => "LEAST_LOADED",
        Scheme::Source | Scheme::Random => "RANDOM",
    };
    let connections = connections_max();
    let (protocol, binding, pem) = match assignment.tls_in {
        None => ("http", "", String::new()),
        Some(pem) => (
            "https",
            // Clients of the lab send the certificate's name in TLS and the address in `Host`. Without this
            // setting, Sozu refuses them with 421.
            "strict_sni_binding = false\n",
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
max_connections = {connections}
max_buffers = {buffers}
activate_listeners = true
handle_process_affinity = false
[[listeners]]
protocol = \"{protocol}\"
address = \"{bind}\"
{binding}[clusters.web]
protocol = \"http\"
load_balancing = \"{balance}\"
frontends = [
{frontends}]
backends = [
{backends}]
{checks}",
        socket = directory.join("sozu.sock"),
        buffers = 2 * connections,
    )
}

/// Returns the maximum number of client connections. Sozu does not start unless twice as many files may be
/// open, and it inherits this program's limit.
pub(super) fn connections_max() -> u64 {
    connections_within(getrlimit(Resource::Nofile).maximum)
}

fn connections_within(descriptors: Option<u64>) -> u64 {
    descriptors.map_or(CONNECTIONS, |most| CONNECTIONS.min(most / 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sozu_is_not_told_to_take_more_connections_than_it_would_start_with() {
        let limits = [None, Some(1_048_576), Some(60_000), Some(20_000)];
        assert_eq!(limits.map(connections_within), [30_000, 30_000, 30_000, 10_000]);
    }
}
