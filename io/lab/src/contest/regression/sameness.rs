//! Compares the scenarios of two files by every key that influences the figures.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::{Map, Value};
use weir_config::lab::{Case, Rival, Scenario};

/// Returns differences that all cases share, one sentence each. Ignores paths of programs. Other notes
/// compare versions.
pub(super) fn of_all(old: &Scenario, new: &Scenario) -> Vec<String> {
    [
        ("servers", differences(&old.servers, &new.servers, &["program"])),
        ("balancer", differences(&old.balancer, &new.balancer, &["port"])),
        ("warm-up", differences(&old.warm_up, &new.warm_up, &[])),
    ]
    .into_iter()
    .filter(|(_, said)| !said.is_empty())
    .map(|(what, said)| format!("the scenarios differ in {what}: {said}"))
    .collect()
}

/// Returns the differences between two rivals with the same name; empty = none.
pub(super) fn of_rivals(old: &Rival, new: &Rival) -> String {
    differences(old, new, &["program"])
}

/// Returns the differences between two cases with the same name; empty = none.
pub(super) fn of_cases(old: &Case, new: &Case) -> String {
    differences(old, new, &[])
}

/// Compares the serialized fields of both, so that new keys are included automatically. Ignores the keys
/// `but` at every level.
fn differences(old: &impl Serialize, new: &impl Serialize, but: &[&str]) -> String {
    let value = |of: Result<Value, serde_json::Error>| without(of.unwrap_or_default(), but);
    let (old, new) = (value(serde_json::to_value(old)), value(serde_json::to_value(new)));
    let (Value::Object(old), Value::Object(new)) = (&old, &new) else {
        return if old == new { String::new() } else { said(&old, &new) };
    };
    // A key may exist in only one of the two.
    let keys: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let of = |all: &Map<String, Value>, key: &String| all.get(key).cloned().unwrap_or_default();
    let values = keys.into_iter().map(|key| (key, of(old, key), of(new, key)));
    let changed = values.filter(|(_, old, new)| old != new);
    let told = changed.map(|(key, old, new)| format!("{} is {}", key.replace('_', "-"), said(&old, &new)));
    told.collect::<Vec<_>>().join("; ")
}

fn without(value: Value, but: &[&str]) -> Value {
    let Value::Object(entries) = value else { return value };
    let kept = entries.into_iter().filter(|(key, _)| !but.contains(&key.as_str()));
    Value::Object(kept.map(|(key, value)| (key, without(value, but))).collect())
}

fn said(old: &Value, new: &Value) -> String {
    format!("{old} in the first file, {new} in the second")
}
