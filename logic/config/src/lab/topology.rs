//! Reads the topology of a scenario: loopback, network namespaces, or remote machines over SSH.

use std::net::IpAddr;
use std::path::PathBuf;

use super::values::span_of;
use super::{Host, Hosts, Links, Mark, Rival, Topology, Way};
use crate::syntax::tree::Node;
use crate::values::table::Table;

const RATES: [&str; 3] = ["client-rate", "balancer-rate", "server-rate"];
const OF_HOSTS: [&str; 6] =
    ["balancer", "balancer-address", "servers", "server-addresses", "ssh-config", "timeout"];

pub(super) fn read(root: &Table<'_, '_>) -> (Topology, Option<Mark>) {
    let table = root.table("topology");
    let mark = root.get("topology").map(|node| Mark(node.span));
    let scale = table.decimal("scale");
    let rate = |key| table.decimal_if(key).map(|mbit| mbit / scale.max(1.0));
    let [client, balancer, server] = RATES.map(rate);
    let topology = match table.text("kind").as_str() {
        "namespaces" => Topology::Namespaces(Links { client, balancer, server, scale }),
        "ssh" => Topology::Hosts,
        _ => Topology::Loopback,
    };
    let refuse = |keys: &[&str], message: &str| {
        for (key, node) in keys.iter().filter_map(|key| Some((key, table.get(key)?))) {
            table.error(key, node.span, message);
        }
    };
    match topology {
        Topology::Loopback => refuse(&RATES, "loopback has no links: kind = \"namespaces\" has"),
        Topology::Hosts => refuse(&RATES, "machines have the links that they have"),
        Topology::Namespaces(_) => {}
    }
    if topology != Topology::Hosts {
        refuse(&OF_HOSTS, "only kind = \"ssh\" has machines");
    }
    (topology, mark)
}

/// Reads the machines, if the topology has some.
pub(super) fn hosts(root: &Table<'_, '_>, topology: Topology) -> Option<Hosts> {
    let table = &root.table("topology");
    // Reads all keys, whatever the topology, so that each counts as known.
    let destinations: Vec<String> = table.many("servers").iter().filter_map(destination).collect();
    let balancer = table.get("balancer").and_then(destination);
    let own = table.parse::<IpAddr>("balancer-address").map(|address| address.value);
    let parse = |node: &Node| table.parse_node("server-addresses", node).map(|address| address.value);
    let addresses: Vec<IpAddr> = table.many("server-addresses").iter().filter_map(parse).collect();
    let ssh_config = table.text_if("ssh-config").map(|text| PathBuf::from(text.value));
    let timeout = table.duration("timeout");
    if topology != Topology::Hosts {
        return None;
    }
    for (key, is_there) in [("balancer", balancer.is_some()), ("servers", !destinations.is_empty())] {
        if !is_there {
            table.error(
                key,
                span_of(table, key),
                "kind = \"ssh\" needs to know where: \"user@name\", as ssh takes it",
            );
        }
    }
    if !addresses.is_empty() && addresses.len() != destinations.len() {
        let message = format!("{} addresses for {} machines", addresses.len(), destinations.len());
        table.error("server-addresses", span_of(table, "server-addresses"), message);
    }
    let servers = destinations.into_iter().enumerate();
    let servers =
        servers.map(|(at, destination)| Host { destination, address: addresses.get(at).copied() }).collect();
    Some(Hosts { balancer: Host { destination: balancer?, address: own }, servers, ssh_config, timeout })
}

/// Reads an SSH destination. ssh would take a leading dash for an option.
fn destination(node: &Node) -> Option<String> {
    node.text().filter(|text| !text.is_empty() && !text.starts_with('-')).map(str::to_owned)
}

/// Reports rivals that need to share one machine with the servers.
pub(super) fn check_rivals(table: &Table<'_, '_>, rivals: &[Rival], topology: Topology) {
    for rival in rivals.iter().filter(|_| topology == Topology::Hosts) {
        let needs_one_machine = match rival.way {
            _ if rival.fleet.is_some() => "has a fleet",
            Way::Offloaded => "sends files in the servers' place",
            Way::Redirected => "shares a secret with the servers",
            Way::Proxied | Way::Dns => continue,
        };
        let span = rival.mark.map_or(table.span(), |mark| mark.0);
        table.error(
            "rivals",
            span,
            format!("{} {needs_one_machine}: not with kind = \"ssh\"", rival.product.name()),
        );
    }
}
