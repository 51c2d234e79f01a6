//! Reads `[third-party-copy]`.

use weir_dav::third_party::{HostRule, RemoteRules};

use super::plan::ThirdPartyCopyPlan;
use crate::common::matching::networks;
use crate::common::paths::path_if;
use crate::tls::read::certificate;
use crate::values::table::Table;

pub(crate) fn read(table: &Table<'_, '_>) -> ThirdPartyCopyPlan {
    let certificate_node = table.get("client-certificate");
    ThirdPartyCopyPlan {
        rules: RemoteRules {
            http: table.flag("http"),
            allow: hosts(table, "allow"),
            deny: hosts(table, "deny"),
            private: networks(table, "private"),
        },
        ca: path_if(table, "ca"),
        client_certificate: certificate_node.and_then(|node| certificate(table, "client-certificate", node)),
        transfers_max: table.number("max-transfers"),
        of_peer_max: table.number("max-per-peer"),
        queue: table.number("queue"),
        streams_max: table.number("max-streams"),
        retries: table.number("retries"),
        connect_timeout: table.duration("connect-timeout"),
        idle_timeout: table.duration("idle-timeout"),
        rate_min: table.byte_rate("min-rate"),
        answer_timeout: table.duration("answer-timeout"),
        marker_interval: table.duration("marker-interval"),
    }
}

fn hosts(table: &Table<'_, '_>, key: &str) -> Vec<HostRule> {
    // An empty list is probably a mistake: for `allow`, it would permit all servers instead of none.
    if let (Some(node), []) = (table.get(key), table.many(key)) {
        table.error(key, node.span, "expected at least one host or network");
    }
    let nodes = table.many(key).iter();
    nodes.filter_map(|node| table.parse_node::<HostRule>(key, node)).map(|rule| rule.value).collect()
}
