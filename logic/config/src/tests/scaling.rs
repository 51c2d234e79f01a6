//! Tests the file of scaling rules: its values, and the messages about mistakes.

use std::collections::BTreeSet;

use weir_scale::forecast::Method;
use weir_scale::policy::{Predictive, Reactive, Target};
use weir_scale::{Policy, Rules};

use super::{every_key, keys_read};
use crate::scaling::NamedRules;
use crate::{Source, render, scaling};

const EVERY_KEY: &str = include_str!("every_scaling_key.toml");

fn load(text: &str) -> Result<Vec<NamedRules>, String> {
    scaling::load(&Source::new("rules.toml", text), &|_| None)
        .map_err(|errors| errors.iter().map(|error| render(error, false)).collect::<Vec<_>>().join("\n"))
}

/// Returns the input, a separator line and the output.
fn golden(text: &str) -> String {
    let complaints = load(text).map_or_else(|errors| errors, |rules| format!("{rules:?}"));
    format!("{}\n---\n{}", text.trim_end(), complaints.trim_end())
}

#[test]
fn rules_with_every_key_become_this() {
    insta::assert_debug_snapshot!(load(EVERY_KEY).unwrap_or_else(|errors| panic!("{errors}")));
}

#[test]
fn every_key_of_the_tables_is_read() {
    load(EVERY_KEY).unwrap();
    let read = keys_read::all();
    let mut known = BTreeSet::new();
    every_key::collect(scaling::root(), &mut known);
    let ignored: Vec<_> = known.difference(&read).collect();
    assert!(ignored.is_empty(), "in the tables of keys, but never read: {ignored:?}");
}

#[test]
fn every_default_and_every_example_of_rules_is_a_value_of_its_key() {
    assert!(every_key::values_are_right(scaling::root()) > 60);
}

#[test]
fn the_defaults_of_the_tables_are_those_of_the_policies() {
    let text = |kind: &str| format!("[rules.a]\nmax = 5\ncapacity = 10\npolicy = {{ kind = {kind:?} }}");
    let rules = |kind: &str| load(&text(kind)).unwrap().remove(0).rules;
    assert_eq!(rules("target").policies, [Policy::Target(Target::default())]);
    assert_eq!(rules("predictive").policies, [Policy::Predictive(Predictive::default())]);
    assert_eq!(rules("reactive").policies, [Policy::Reactive(Reactive::default())]);
    assert_eq!(rules("target"), Rules::by_requests(1, 5, 10.0));
}

#[test]
fn every_way_to_forecast_has_its_name() {
    for (name, forecast) in Method::ALL {
        let policy = format!("{{ kind = \"predictive\", forecast = {name:?} }}");
        let rules = load(&format!("[rules.a]\nmax = 5\ncapacity = 10\npolicy = {policy}")).unwrap().remove(0);
        let expected = Predictive { forecast, ..Predictive::default() };
        assert_eq!(rules.rules.policies, [Policy::Predictive(expected)]);
    }
    let wrong = "[rules.a]\nmax = 5\ncapacity = 10\npolicy = { kind = \"target\", forecast = \"mstl\" }";
    assert!(load(wrong).unwrap_err().contains("forecast: target has none; it is for predictive"));
}

#[test]
fn what_is_wrong_is_shown_at_once_with_line_caret_and_suggestion() {
    insta::assert_snapshot!(golden(
        r#"
[rules.a]
min = 5
max = 3
capacity = 0
policy = "targit"
standby = 4
prepared = 5

[rules.b]
minimum = 1
max = 5
quota = 3
capacity = 10
policy = ["target", { kind = "reactive", up-after = "3s" }, "schedule", "target"]
signals = [{ kind = "active" }, { kind = "requests", per-server = 3 }]

[rules.c]
max = 3
capacity = 1
policy = { kind = "schedule", floors = [{ begins = "0 25 * * *", lasts = "1h", servers = 2 }, { begins = "0 5 * *", lasts = "8d", servers = 4 }] }

[rules.d]
max = 3
capacity = 1
policy = { kind = "predictive", season = "1h", step = "7m", step-down = { servers = 0, per = "1m" } }
"#
    ));
}

#[test]
fn a_file_without_rules_says_what_one_looks_like() {
    insta::assert_snapshot!(golden("# nothing"));
}

#[test]
fn nonsense_is_an_error_and_not_a_panic() {
    for text in [
        "[",
        "rules = 1",
        "[rules]\na = 1",
        "[rules.a]\npolicy = []\nmax = 1\ncapacity = 1",
        "[rules.a]\npolicy = [[1]]\nmax = 1\ncapacity = 1",
        "[rules.a]\nsignals = []\nmax = 1\ncapacity = 1",
        "[rules.a]\nmax = 1\ncapacity = 1e999",
        "[rules.\"a b\"]\nmax = 1\ncapacity = 1",
        "[rules.a]\nmax = 1\ncapacity = 1\npolicy = { kind = \"predictive\", step = \"1d\", season = \"1m\" }",
    ] {
        assert!(load(text).is_err(), "{text}");
    }
}
