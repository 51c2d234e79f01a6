//! Tests `weight = "auto"`: the configs in which it is on, and the warnings about algorithms.

use weir_balance::{Algorithm, WeightUse};

use super::{load_text, messages};

fn text(keys: &str) -> String {
    format!("[listener.web]\nbind = \":80\"\npool = \"web\"\n\n[pool.web]\n{keys}\n")
}

/// Returns a `balance` line, with a key if the algorithm takes one.
fn balance(algorithm: Algorithm) -> String {
    match algorithm {
        Algorithm::Source | Algorithm::NginxIpHash => format!("balance = \"{algorithm}\""),
        _ if algorithm.takes_key() => format!("balance = {{ algorithm = \"{algorithm}\", key = \"uri\" }}"),
        _ => format!("balance = \"{algorithm}\""),
    }
}

fn is_on(keys: &str) -> bool {
    let plan = load_text(&text(keys)).unwrap_or_else(|errors| panic!("{keys}: {}", errors[0])).plan;
    plan.pools[0].auto_weight.is_on
}

const AUTO: &str = "servers = [{ address = \"10.0.0.1:80\", weight = \"auto\" }]";
const FIXED: &str = "servers = [{ address = \"10.0.0.1:80\", weight = 2 }]";

#[test]
fn weights_that_an_algorithm_takes_for_something_else_than_shares_are_told() {
    for algorithm in Algorithm::ALL {
        let expected = match algorithm.weight_use() {
            WeightUse::Shares => None,
            WeightUse::MovesKeys => Some("gives most keys to other servers"),
            WeightUse::OrdersServers => Some("the heaviest server gets everything"),
            WeightUse::CountsRequests => Some("takes weights for numbers of requests at once"),
            WeightUse::Nothing => Some("weights do not count"),
        };
        let balance = balance(algorithm);
        let told = messages(&text(&format!("{balance}\n{AUTO}")));
        let told: Vec<_> = told.iter().filter(|message| message.contains("with weight = \"auto\"")).collect();
        assert_eq!(told.len(), usize::from(expected.is_some()), "{algorithm}: {told:?}");
        if let Some(expected) = expected {
            assert!(told[0].contains(expected), "{algorithm}: {told:?}");
        }
        let fixed = messages(&text(&format!("{balance}\n{FIXED}")));
        assert!(!fixed.iter().any(|message| message.contains("auto")), "{algorithm}: {fixed:?}");
    }
}

#[test]
fn a_pool_whose_servers_come_from_a_fleet_finds_their_weights_if_it_says_how() {
    assert!(is_on(AUTO));
    assert!(!is_on(FIXED));
    assert!(!is_on(&format!("{FIXED}\nauto-weight = {{ interval = \"1m\" }}")));
    assert!(is_on("servers = []\nauto-weight = { interval = \"1m\" }"));
    assert!(!is_on("servers = []"));
    let told = messages(&text("servers = []\nbalance = \"source\"\nauto-weight = { interval = \"1m\" }"));
    assert!(told.iter().any(|message| message.contains("gives most keys to other servers")), "{told:?}");
    assert!(!told.iter().any(|message| message.contains("changes nothing")), "{told:?}");
    let told = messages(&text(&format!("{FIXED}\nauto-weight = {{ interval = \"1m\" }}")));
    assert!(told.iter().any(|message| message.contains("auto-weight changes nothing")), "{told:?}");
}

#[test]
fn no_weights_are_found_behind_a_tcp_listener() {
    for keys in [AUTO, "servers = []\nauto-weight = { interval = \"1m\" }"] {
        let told = messages(&text(keys).replace("pool = \"web\"\n", "pool = \"web\"\nmode = \"tcp\"\n"));
        assert!(
            told.iter().any(|message| message.contains("sees no requests whose times could be measured")),
            "{keys}: {told:?}"
        );
    }
}
