//! Selection of the servers to remove first.

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::server::Server;

/// Rule that selects the server to remove. Ties: the server with the fewest requests, then the newest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Leaver {
    /// The server with the fewest requests, which drains first.
    #[default]
    FewestRequests,
    /// The oldest server, which may have leaked the most memory.
    Oldest,
    /// The newest server, which has the coldest caches.
    Newest,
    /// The most expensive server per hour.
    MostExpensive,
    /// A server of the zone that has the most.
    ZoneBalance,
    /// Only the server with the last name, in any state: some providers can remove no other one.
    Last,
}

impl Leaver {
    /// All rules with their config names.
    pub const ALL: [(&'static str, Self); 6] = [
        ("fewest-requests", Self::FewestRequests),
        ("oldest", Self::Oldest),
        ("newest", Self::Newest),
        ("most-expensive", Self::MostExpensive),
        ("zone-balance", Self::ZoneBalance),
        ("last", Self::Last),
    ];

    /// Sorts the servers to remove to the front.
    pub(crate) fn order(self, servers: &mut Vec<&Server>) {
        servers.sort_by(|a, b| {
            let by_rule = match self {
                Self::FewestRequests | Self::ZoneBalance => std::cmp::Ordering::Equal,
                Self::Oldest => a.created.cmp(&b.created),
                Self::Newest => b.created.cmp(&a.created),
                Self::MostExpensive => b.cost_per_hour.total_cmp(&a.cost_per_hour),
                Self::Last => place(b).cmp(&place(a)),
            };
            by_rule
                .then(a.active.cmp(&b.active))
                .then(b.created.cmp(&a.created))
                .then_with(|| a.name.cmp(&b.name))
        });
        if self == Self::ZoneBalance {
            by_zones(servers);
        }
    }
}

/// Returns the sort key of a server: its name, with a number at its end compared as a number (web-9 before
/// web-10).
pub(crate) fn place(server: &Server) -> (&str, u64, &str) {
    let name = server.name.as_str();
    let head = name.trim_end_matches(|c: char| c.is_ascii_digit());
    (head, name[head.len()..].parse().unwrap_or(0), name)
}

/// Sorts by zone: a server goes earlier the more servers of its zone follow it. The k-th server of a zone
/// with n servers has rank n - k.
fn by_zones(servers: &mut Vec<&Server>) {
    let mut left: HashMap<Option<&str>, usize> = HashMap::new();
    for server in servers.iter() {
        *left.entry(zone(server)).or_default() += 1;
    }
    let mut ranked: Vec<(usize, &Server)> = Vec::with_capacity(servers.len());
    for server in servers.iter() {
        let left = left.entry(zone(server)).or_default();
        ranked.push((*left, server));
        *left = left.saturating_sub(1);
    }
    // The sort is stable: it keeps the order within a zone, and among zones of equal size.
    ranked.sort_by_key(|(left, _)| Reverse(*left));
    *servers = ranked.into_iter().map(|(_, server)| server).collect();
}

fn zone(server: &Server) -> Option<&str> {
    server.zone.as_ref().map(|zone| zone.as_str())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use weir_model::Name;

    use super::*;
    use crate::server::ServerState;

    fn server(name: &str, created: u64, active: u64, cost: f64, zone: &str) -> Server {
        Server {
            name: Name::new(name).unwrap(),
            flavour: None,
            zone: Name::new(zone).ok(),
            created: Duration::from_secs(created),
            cost_per_hour: cost,
            active,
            state: ServerState::Active,
        }
    }

    fn order(leaver: Leaver) -> String {
        let servers = [
            server("a", 1, 5, 1.0, "x"),
            server("b", 2, 2, 3.0, "x"),
            server("c", 3, 2, 1.0, "x"),
            server("d", 4, 0, 2.0, "y"),
        ];
        let mut order: Vec<&Server> = servers.iter().collect();
        leaver.order(&mut order);
        order.iter().map(|server| server.name.as_str()).collect()
    }

    #[test]
    fn each_way_lets_its_own_go_first() {
        assert_eq!(order(Leaver::FewestRequests), "dcba");
        assert_eq!(order(Leaver::Oldest), "abcd");
        assert_eq!(order(Leaver::Newest), "dcba");
        assert_eq!(order(Leaver::MostExpensive), "bdca");
        // First two of the three servers in zone x, then one of each zone.
        assert_eq!(order(Leaver::ZoneBalance), "cbda");
        assert_eq!(order(Leaver::Last), "dcba");
    }

    #[test]
    fn the_last_name_is_the_one_with_the_highest_number() {
        let servers =
            ["web-9", "web-10", "web-2"].map(|name| server(name, 1, u64::from(name == "web-10"), 1.0, "x"));
        let mut order: Vec<&Server> = servers.iter().collect();
        Leaver::Last.order(&mut order);
        let names: Vec<_> = order.iter().map(|server| server.name.as_str()).collect();
        assert_eq!(names, ["web-10", "web-9", "web-2"]);
    }
}
