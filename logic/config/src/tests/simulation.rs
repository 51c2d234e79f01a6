//! Tests the simulation's scenario file: its values, and the messages about mistakes.

use std::collections::BTreeSet;

use super::{every_key, keys_read};
use crate::simulation::Scenario;
use crate::{Source, render, simulation};

const EVERY_KEY: &str = include_str!("every_simulation_key.toml");

fn load(text: &str) -> Result<Scenario, String> {
    simulation::load(&Source::new("scenario.toml", text), &|_| None)
        .map_err(|errors| errors.iter().map(|error| render(error, false)).collect::<Vec<_>>().join("\n"))
}

/// Returns the input, a separator line and the output.
fn golden(text: &str) -> String {
    let complaints = load(text).map_or_else(|errors| errors, |scenario| format!("{scenario:?}"));
    format!("{}\n---\n{}", text.trim_end(), complaints.trim_end())
}

#[test]
fn an_empty_file_is_the_default_scenario() {
    assert_eq!(load(""), Ok(Scenario::default()));
}

#[test]
fn a_scenario_with_every_key_becomes_this() {
    for part in EVERY_KEY.split("# ---\n") {
        load(part).unwrap_or_else(|errors| panic!("{errors}"));
    }
    insta::assert_debug_snapshot!(EVERY_KEY.split("# ---\n").map(load).collect::<Vec<_>>());
}

#[test]
fn every_key_of_the_tables_is_read() {
    EVERY_KEY.split("# ---\n").for_each(|part| drop(load(part).unwrap()));
    let read = keys_read::all();
    let mut known = BTreeSet::new();
    every_key::collect(simulation::root(), &mut known);
    let ignored: Vec<_> = known.difference(&read).collect();
    assert!(ignored.is_empty(), "in the tables of keys, but never read: {ignored:?}");
}

#[test]
fn every_default_and_every_example_of_a_scenario_is_a_value_of_its_key() {
    assert!(every_key::values_are_right(simulation::root()) > 60);
}

#[test]
fn what_is_wrong_is_shown_at_once_with_line_caret_and_suggestion() {
    insta::assert_snapshot!(golden(
        r#"
algorithms = ["random", "random"]
request = 1000
seeds = 0

[arrivals]
pattern = "burst"
load = "0.8"

[service]
mean = "10"
deviation = 2
max = "1s"

[[servers]]
count = 3
sped = 0.5
fail = { at = "1s", for = "0", servers = 4 }
"#
    ));
}

#[test]
fn what_a_pool_of_a_scenario_cannot_do_is_told_with_its_place() {
    for (text, complaint) in [
        (
            "[[servers]]\nagent = { at = \"1s\", says = \"50% fast\" }",
            "\"fast\" means nothing; an agent says up, down",
        ),
        ("[[servers]]\nagent = { at = \"1s\", says = \" \" }", "says nothing"),
        (
            "[[servers]]\ncount = 2\nagent = { at = \"1s\", says = \"up\", servers = 3 }",
            "the group has 2 only",
        ),
        (
            "[[servers]]\ncount = 2\ndrain = { at = \"1s\", for = \"1s\", servers = 3 }",
            "the group has 2 only",
        ),
        ("[[servers]]\nprocessor = \"150%\"", "only with weight = \"auto\""),
        ("[[servers]]\nweight = \"car\"", "weight: "),
        ("[[priorities]]\nshare = 0.6\n[[priorities]]\nshare = 0.6", "in all; at most 1"),
        ("[[priorities]]\nshare = 0.6\nclass = 1025", "out of range: -1024 to 1024"),
        ("[balancer]\nsticky = true\nhedge = {}", "a pool with sticky has none"),
        ("[balancer]\nauto-weight = { min = 9, max = 5 }", "min 9 is above max 5"),
        ("[balancer]\nbreaker = true", "balancer.breaker: "),
        ("[balancer]\nkey = \"value\"", "balancer.key: requests bring no values"),
        ("[values]\ncount = 0", "values.count: "),
    ] {
        let complaints = load(text).unwrap_err();
        assert!(
            complaints.contains(complaint) && complaints.contains("scenario.toml:"),
            "{text}: {complaints}"
        );
    }
}

#[test]
fn what_does_not_fit_together_is_told() {
    insta::assert_snapshot!(golden(
        r#"
requests = 100
warm-up = 100
arrivals = { pattern = "bursty", load = 0.5, rate = 10, burst = { factor = 9 } }
service = { distribution = "pareto", mean = "1s", max = "500ms" }
servers = [{ count = 60000, cache = { uris = 1000 } }, { count = 50000 }]
"#
    ));
    insta::assert_snapshot!(golden(
        r#"
replay = { file = "access.log", speed = 0 }
arrivals = { pattern = "daily", curve = [0, 0.0] }
algorithms = []
servers = []
"#
    ));
}

#[test]
fn a_bare_curve_of_zeros_and_words_is_told() {
    insta::assert_snapshot!(golden("arrivals = { pattern = \"daily\", curve = [0, 0.0], day = \"0\" }"));
}

#[test]
fn nonsense_is_an_error_and_not_a_panic() {
    for text in [
        "[",
        "servers = 1",
        "[[servers]]\nfail = [[1]]",
        "replay = 7",
        "service = { mean = 1e999 }",
        "clients = [1]",
    ] {
        assert!(load(text).is_err(), "{text}");
    }
}
