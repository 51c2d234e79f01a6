//! Tests the messages about options of algorithms, slow start, tiers, zones, subsets and agents.

use weir_balance::Algorithm;

use super::{load_text, messages};

/// Returns the messages about a pool with these keys.
fn said(keys: &str) -> Vec<String> {
    messages(&format!(
        "[listener.web]\nbind = \":80\"\npool = \"web\"\n\n[pool.web]\nservers = \"10.0.0.1:80\"\n{keys}"
    ))
}

#[test]
fn each_bad_value_is_told_with_its_place() {
    for (keys, expected) in [
        (
            "balance = { algorithm = \"random\", draws = 0 }",
            "pool web: balance.draws: 0 is out of range: 1 to 32",
        ),
        ("balance = { algorithm = \"round-robin\", draws = 3 }", "pool web: balance.draws: only for random"),
        (
            "balance = { algorithm = \"random\", choices = 3 }",
            "pool web: balance.choices: only for least-request",
        ),
        (
            "balance = { algorithm = \"random\", bias = \"50%\" }",
            "pool web: balance.bias: only for least-request",
        ),
        (
            "balance = { algorithm = \"random\", decay = \"5s\" }",
            "pool web: balance.decay: only for peak-ewma",
        ),
        (
            "balance = { algorithm = \"peak-ewma\", inflight = true }",
            "pool web: balance.inflight: only for least-response-time",
        ),
        (
            "balance = { algorithm = \"least-response-time\", until = \"middle\" }",
            "pool web: balance.until: unknown value \"middle\"",
        ),
        (
            "balance = { algorithm = \"least-response-time\", forgive = \"1ms\" }",
            "pool web: balance.forgive: 1ms is out of range",
        ),
        ("slow-start = \"1ms\"", "pool web: slow-start: 1ms is out of range"),
        ("slow-start = { aggression = \"50%\" }", "window is missing"),
        (
            "slow-start = { window = \"10s\", min-weight = \"0%\" }",
            "min-weight: 0% is out of range: 1% to 100%",
        ),
        ("slow-start = { window = \"10s\", aggression = \"1%\" }", "aggression: 1% is out of range"),
        ("min-healthy = \"101%\"", "pool web: min-healthy: 101% is out of range"),
        ("zone = \"a b\"", "pool web: zone: ' ' cannot stand in a name"),
        ("zone = { stay = \"50%\" }", "name is missing"),
        ("zone = { name = \"a\", stay = \"0%\" }", "stay: 0% is out of range"),
        (
            "subset = { size = 2, instance = 3, instances = 3 }",
            "subset.instance: 3 of 3 instances: the first is 0",
        ),
        ("subset = { size = 0, instance = 0, instances = 3 }", "subset.size: 0 is out of range"),
        ("subset = { size = 2, instance = 0 }", "instances is missing"),
        ("agent = { interval = \"2s\" }", "port is missing"),
        ("agent = { port = 0 }", "agent.port: 0 is out of range"),
        ("agent = { port = 70000 }", "agent.port: 70000 is out of range"),
        ("agent = true", "pool web: agent: expected"),
    ] {
        let messages = said(keys);
        assert!(messages.iter().any(|message| message.contains(expected)), "{keys}: {messages:?}");
    }
}

#[test]
fn each_bad_key_of_a_server_is_told() {
    for (keys, expected) in [
        ("weight = 257", "weight: 257 is out of range: 0 to 256"),
        ("priority = -1", "is out of range: 0 to 65535"),
        ("priority = 65536", "is out of range: 0 to 65535"),
        ("zone = \"\"", "a name needs at least one character"),
        ("agent-port = 0", "is out of range: 1 to 65535"),
    ] {
        let text = format!(
            "[listener.web]\nbind = \":80\"\npool = \"web\"\n\n[pool.web]\nservers = [{{ address = \"10.0.0.1:80\", {keys} }}]"
        );
        let messages = messages(&text);
        assert!(messages.iter().any(|message| message.contains(expected)), "{keys}: {messages:?}");
    }
}

#[test]
fn what_changes_nothing_is_doubtful() {
    let messages = said("slow-start = \"10s\"\nbalance = \"ipvs-wrr\"");
    assert!(
        messages[0].contains("ipvs-wrr goes by whole weights: slow-start changes nothing"),
        "{messages:?}"
    );
    let messages = said("zone = \"a\"");
    assert!(messages[0].contains("no server has a zone"), "{messages:?}");
}

#[test]
fn parts_of_weights_that_do_not_count_are_told_for_every_algorithm_and_no_other() {
    let in_zones = |keys: &str| {
        let servers =
            "servers = [{ address = \"10.0.0.1:80\", zone = \"a\" }, \"10.0.0.2:80\", \"10.0.0.3:80\"]";
        messages(&format!("[listener.web]\nbind = \":80\"\npool = \"web\"\n[pool.web]\n{servers}\n{keys}"))
    };
    for algorithm in Algorithm::ALL {
        let parts = algorithm.weighs_portions();
        let moving = algorithm.weighs_moving_portions();
        for (key, counts, expected) in [
            ("slow-start = \"10s\"", moving, "slow-start changes nothing"),
            ("agent = { port = 9 }", moving, "only 0% counts"),
            ("zone = \"a\"", parts, "servers of other zones get as much"),
            ("subset = { size = 1, instance = 0, instances = 2 }", parts, "belong to two Weirs"),
        ] {
            let messages = in_zones(&format!("balance = \"{algorithm}\"\n{key}"));
            let told = messages.iter().any(|message| message.contains(expected));
            assert_eq!(told, !counts, "{algorithm}, {key}: {messages:?}");
        }
        let whole = in_zones(&format!(
            "balance = \"{algorithm}\"\nsubset = {{ size = 1, instance = 0, instances = 3 }}"
        ));
        assert!(!whole.iter().any(|message| message.contains("two Weirs")), "{algorithm}: {whole:?}");
    }
}

#[test]
fn the_zone_of_the_process_is_that_of_its_pools_unless_they_say_otherwise() {
    let text = "[weir]\nzone = \"a\"\n[listener.web]\nbind = \":80\"\npool = \"one\"\n\
                [pool.one]\nservers = [{ address = \"10.0.0.1:80\", zone = \"b\" }]\n\
                [pool.two]\nzone = { name = \"c\", stay = \"90%\" }\nservers = []\n\
                [pool.three]\nzone = false\nservers = []\n";
    let plan = load_text(text).unwrap_or_else(|errors| panic!("{}", errors[0])).plan;
    let zone = |pool: usize| {
        let pool = &plan.pools[pool];
        (pool.zone.as_ref().map(ToString::to_string), pool.membership.zones.map(|rule| rule.stay_percent))
    };
    assert_eq!(zone(0), (Some("a".to_owned()), Some(70)));
    assert_eq!(zone(1), (Some("c".to_owned()), Some(90)));
    assert_eq!(zone(2), (None, None));
}
