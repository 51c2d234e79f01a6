//! Prints the rules that scale a fleet.

use std::time::Duration;

use toml::Value;
use weir_model::Millis;
use weir_scale::forecast::Method;
use weir_scale::policy::{Floor, Predictive, Step, Target};
use weir_scale::{Capacity, Combination, Leaver, Policy, Rules, SignalKind, SignalRule, Statistic};

use crate::common::writer::{OFF, Printed, Spelled};

/// Returns the rules as keys of the file, with all defaults.
pub(crate) fn rules(rules: &Rules) -> Vec<(&'static str, Value)> {
    let mut keys = vec![("min", whole(rules.bounds.min)), ("max", whole(rules.bounds.max))];
    keys.extend(rules.bounds.quota.map(|quota| ("quota", whole(quota))));
    keys.extend([("capacity", capacity(rules.capacity.standard))]);
    if !rules.capacity.others.is_empty() {
        let flavours = rules.capacity.others.iter().map(|(name, of)| (name.to_string(), flavour(*of)));
        keys.push(("flavours", Value::Table(flavours.collect())));
    }
    keys.extend([
        ("policy", one_or_many(rules.policies.iter().map(policy).collect())),
        ("signals", one_or_many(rules.signals.iter().map(signal).collect())),
        (
            "combine",
            match rules.combination {
                Combination::Max => "max",
                Combination::Mean => "mean",
                Combination::Min => "min",
            }
            .spelled(),
        ),
        ("cool-down-up", time(rules.cool_down.up)),
        ("cool-down-down", time(rules.cool_down.down)),
        ("goes-first", leaver(rules.leaver).spelled()),
        ("standby", whole(rules.standby.keep)),
        ("prepared", whole(rules.standby.prepare)),
        ("start-up", time(rules.start_up)),
        ("wake-up", time(rules.wake_up)),
        ("replace-after", time(rules.replace_after)),
        ("drain-deadline", time(rules.drain_deadline)),
        ("stale-after", time(rules.stale_after)),
    ]);
    keys
}

fn capacity(capacity: Capacity) -> Value {
    match capacity {
        Capacity::Given(requests_per_s) => Value::Float(requests_per_s),
        Capacity::Learned { initial, least, most, slower } => table([
            ("initial", Value::Float(initial)),
            ("least", Value::Float(least)),
            ("most", Value::Float(most)),
            ("slower", Value::Float(slower)),
        ]),
    }
}

/// Returns the capacity of one flavour. A measured capacity uses the bounds of the standard capacity.
fn flavour(capacity: Capacity) -> Value {
    match capacity {
        Capacity::Given(requests_per_s) => Value::Float(requests_per_s),
        Capacity::Learned { .. } => "auto".spelled(),
    }
}

fn leaver(leaver: Leaver) -> &'static str {
    Leaver::ALL.into_iter().find(|(_, known)| *known == leaver).map_or("fewest-requests", |(name, _)| name)
}

fn policy(policy: &Policy) -> Value {
    let mut keys = vec![("kind", policy.name().spelled())];
    match policy {
        Policy::Reactive(rule) => {
            keys.extend([("period", time(rule.period)), ("baseline", whole(rule.baseline))]);
        }
        Policy::Target(rule) => keys.extend(target(rule)),
        Policy::Predictive(Predictive { target: rule, season, step, confidence, forecast }) => {
            keys.extend(target(rule));
            keys.extend([
                ("season", time(*season)),
                ("step", time(*step)),
                ("confidence", share(*confidence)),
                ("forecast", method(*forecast).spelled()),
            ]);
        }
        Policy::Schedule(rule) => {
            keys.push(("floors", one_or_many(rule.floors.iter().map(floor).collect())));
        }
    }
    table(keys)
}

fn method(forecast: Method) -> &'static str {
    Method::ALL.into_iter().find(|(_, known)| *known == forecast).map_or("auto", |(name, _)| name)
}

fn target(rule: &Target) -> Vec<(&'static str, Value)> {
    vec![
        ("utilisation", share(rule.utilisation)),
        ("up-after", time(rule.up_after)),
        ("down-after", time(rule.down_after)),
        ("hysteresis", share(rule.hysteresis)),
        ("stabilise-up", time(rule.stabilise_up)),
        ("stabilise-down", time(rule.stabilise_down)),
        ("step-up", step(rule.step_up)),
        ("step-down", step(rule.step_down)),
        ("damping", rule.damping.spelled()),
    ]
}

fn step(step: Option<Step>) -> Value {
    match step {
        None => OFF.spelled(),
        Some(step) => {
            table([("servers", whole(step.servers)), ("share", share(step.share)), ("per", time(step.per))])
        }
    }
}

fn floor(floor: &Floor) -> Value {
    table([
        ("begins", Printed(&floor.begins).spelled()),
        ("lasts", time(floor.lasts)),
        ("servers", whole(floor.servers)),
    ])
}

fn signal(signal: &SignalRule) -> Value {
    let mut keys = vec![("kind", signal.kind.name().spelled())];
    if signal.kind != SignalKind::Requests {
        keys.push(("per-server", Value::Float(signal.per_server)));
    }
    let statistic = match signal.statistic {
        Statistic::Mean => "mean".to_owned(),
        Statistic::Max => "max".to_owned(),
        Statistic::Percentile(share) => format!("p{:.0}", share * 100.0),
    };
    keys.extend([("statistic", statistic.spelled()), ("window", time(signal.window))]);
    table(keys)
}

fn table(entries: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    Value::Table(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

fn one_or_many(mut values: Vec<Value>) -> Value {
    if values.len() == 1 { values.remove(0) } else { Value::Array(values) }
}

fn time(span: Duration) -> Value {
    Printed(Millis(u64::try_from(span.as_millis()).unwrap_or(u64::MAX))).spelled()
}

fn share(share: f64) -> Value {
    Value::String(format!("{:.0}%", share * 100.0))
}

pub(crate) fn whole(number: impl Into<u64>) -> Value {
    Value::Integer(i64::try_from(number.into()).unwrap_or(i64::MAX))
}
