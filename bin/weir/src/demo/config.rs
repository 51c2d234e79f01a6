//! Writes the balancer's config, as a beginner might write it.

use std::net::SocketAddr;
use std::path::Path;

use super::facts::{Files, NodeFacts, ServerFacts};
use super::fleet;
use super::storage::PLACE;

/// Returns the config's text: the balancer's listener is at `site`, that of its fleet at `app`, and the
/// status page at `admin`.
///
/// # Errors
/// If a path is not UTF-8.
pub(super) fn text(
    [site, app, admin]: [SocketAddr; 3],
    (servers, nodes): (&[ServerFacts], &[NodeFacts]),
    files: &Files,
) -> Result<String, String> {
    let servers: String = servers
        .iter()
        .map(|server| {
            let (name, address, ms) = (server.spec.name, server.address, server.spec.service_ms);
            format!("    {{ name = \"{name}\", address = \"{address}\" }}, # takes {ms} ms\n")
        })
        .collect();
    let nodes: String = nodes
        .iter()
        .map(|node| format!("    {{ name = \"{}\", address = \"{}\" }},\n", node.name, node.address))
        .collect();
    let place = PLACE.trim_end_matches('/');
    let fleet = fleet::config(files)?;
    let (access_log, control) = (quoted(&files.access_log)?, quoted(&files.control)?);
    Ok(format!(
        r#"# Made by `weir demo`, and gone when it ends. Change it, then: weir ctl reload (or kill -HUP).

[listener.web]
bind = "{site}"
pool = "web"

[pool.web]
balance = "least-connections"
# Quicker than the defaults, so that there is something to see.
check = {{ http = "GET /health", interval = "500ms", rise = 2, fall = 2 }}
servers = [
{servers}]

# Files: two storage nodes that share a directory, each a Weir with a storage area.
[[route]]
path = "{place}"
pool = "storage"

[pool.storage]
balance = "round-robin"
check = "tcp"
servers = [
{nodes}]

[listener.app]
bind = "{app}"
pool = "app"

{fleet}
[admin]
bind = "{admin}"

[access-log]
format = "httplog"
to = {access_log}

[weir]
workers = 2
control = {control}
state = false
drain-timeout = "2s"
"#
    ))
}

/// Returns a path as a TOML string in which `${` does not start a variable. TOML understands the escapes of
/// JSON.
pub(super) fn quoted(path: &Path) -> Result<String, String> {
    let text = path.to_str().ok_or_else(|| format!("{}: the path is not UTF-8", path.display()))?;
    Ok(serde_json::Value::from(text).to_string().replace("${", "$${"))
}

#[cfg(test)]
mod tests {
    use weir_config::{Plan, Source};

    use super::super::server::SERVERS;
    use super::super::storage::NODES;
    use super::*;

    fn plan(directory: &str) -> Plan {
        let loopback = |port| SocketAddr::from(([127, 0, 0, 1], port));
        let servers: Vec<_> = SERVERS
            .into_iter()
            .zip(9001..)
            .map(|(spec, port)| ServerFacts { spec, address: loopback(port), pid: 1 })
            .collect();
        let files = Files::within(Path::new(directory));
        let nodes = NODES.map(|name| NodeFacts { name, address: loopback(9000), pid: 1 });
        let addresses = [8000, 8002, 8001].map(loopback);
        let text = text(addresses, (&servers, &nodes[..1]), &files).unwrap();
        let source = Source { name: "demo.toml".to_owned(), text: text.clone() };
        let loaded = weir_config::load(&[source], &|_| None);
        let loaded = loaded.unwrap_or_else(|problems| panic!("{problems:?}\n{text}"));
        assert!(loaded.warnings.is_empty(), "{:?}", loaded.warnings);
        loaded.plan
    }

    #[test]
    fn the_config_is_right_and_says_what_was_meant() {
        let plan = plan("/somewhere");
        let names: Vec<_> = plan.pools[0].servers.iter().map(|server| server.name.as_str()).collect();
        assert_eq!(names, SERVERS.map(|server| server.name));
        assert_eq!(plan.process.control.as_deref(), Some(Path::new("/somewhere/control.sock")));
        assert_eq!(plan.process.state, None);
        assert_eq!(plan.fleets[0].directory, Path::new("/somewhere/fleet"));
    }

    #[test]
    fn odd_paths_stay_what_they_are() {
        let odd = "/some\"where\\${HOME}";
        let plan = plan(odd);
        assert_eq!(plan.process.control, Some(Path::new(odd).join("control.sock")));
    }
}
