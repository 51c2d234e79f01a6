//! Reads the scaling policies of a set of rules.

use weir_scale::forecast::Method;
use weir_scale::policy::{Cron, Floor, Predictive, Reactive, Schedule, Step, Target};
use weir_scale::{Bounds, Policy};

use super::keys::{FLOOR, POLICY};
use crate::syntax::tree::Node;
use crate::values::table::Table;

/// Policies to which each key belongs.
const OWNERS: [(&str, &[&str]); 17] = [
    ("period", &["reactive"]),
    ("baseline", &["reactive"]),
    ("utilisation", FOLLOWERS),
    ("up-after", FOLLOWERS),
    ("down-after", FOLLOWERS),
    ("hysteresis", FOLLOWERS),
    ("stabilise-up", FOLLOWERS),
    ("stabilise-down", FOLLOWERS),
    ("step-up", FOLLOWERS),
    ("step-down", FOLLOWERS),
    ("damping", FOLLOWERS),
    ("season", &["predictive"]),
    ("step", &["predictive"]),
    ("confidence", &["predictive"]),
    ("forecast", &["predictive"]),
    ("floors", &["schedule"]),
    ("kind", &Policy::NAMES),
];
const FOLLOWERS: &[&str] = &["target", "predictive"];

/// Reads `policy = ...` of a set of rules.
pub(super) fn read(rules: &Table<'_, '_>, bounds: Bounds) -> Vec<Policy> {
    let mut policies = Vec::new();
    let written = rules.many("policy");
    for (index, node) in written.iter().enumerate() {
        let policy = match node.text() {
            Some(name) => by_name(name),
            None => {
                let subject = rules.subject.named("policy", &(index + 1).to_string());
                policy(&Table::new(rules.cx, subject, &POLICY, node), bounds)
            }
        };
        if policies.iter().any(|other: &Policy| other.name() == policy.name()) {
            rules.error("policy", node.span, format!("{} is there twice", policy.name()));
        }
        if node.text() == Some("schedule") {
            rules.error(
                "policy",
                node.span,
                "a schedule needs floors: { kind = \"schedule\", floors = ... }",
            );
        }
        policies.push(policy);
    }
    if let (Some(node), true) = (rules.get("policy"), policies.is_empty()) {
        rules.error("policy", node.span, "there is none");
    }
    if policies.is_empty() {
        policies.push(Policy::default());
    }
    policies
}

/// Returns the policy of a name, with all defaults. An unknown name has been reported before.
fn by_name(name: &str) -> Policy {
    match name {
        "reactive" => Policy::Reactive(Reactive::default()),
        "predictive" => Policy::Predictive(Predictive::default()),
        "schedule" => Policy::Schedule(Schedule::default()),
        _ => Policy::default(),
    }
}

fn policy(table: &Table<'_, '_>, bounds: Bounds) -> Policy {
    let kind = table.text("kind");
    for (key, of) in OWNERS {
        if let (Some(node), false) = (table.get(key), kind.is_empty() || of.contains(&kind.as_str())) {
            table.error(key, node.span, format!("{kind} has none; it is for {}", of.join(" and ")));
        }
    }
    match kind.as_str() {
        "reactive" => Policy::Reactive(Reactive {
            period: table.duration("period").duration(),
            baseline: table.number("baseline"),
        }),
        "predictive" => Policy::Predictive(predictive(table)),
        "schedule" => Policy::Schedule(schedule(table, bounds)),
        _ => Policy::Target(target(table)),
    }
}

fn target(table: &Table<'_, '_>) -> Target {
    let default = Target::default();
    let step = |key: &str, otherwise: Option<Step>| {
        let Some(node) = table.get(key) else { return otherwise };
        if node.flag().is_some() {
            return None;
        }
        let step = table.table(key);
        let step = Step {
            servers: step.number("servers"),
            share: f64::from(step.share("share")) / 100.0,
            per: step.duration("per").duration(),
        };
        if step.servers == 0 && step.share == 0.0 {
            table.error(key, node.span, "nothing would ever change");
        }
        Some(step)
    };
    Target {
        utilisation: f64::from(table.share("utilisation").max(1)) / 100.0,
        up_after: table.duration("up-after").duration(),
        down_after: table.duration("down-after").duration(),
        hysteresis: f64::from(table.share("hysteresis")) / 100.0,
        stabilise_up: table.duration("stabilise-up").duration(),
        stabilise_down: table.duration("stabilise-down").duration(),
        step_up: step("step-up", default.step_up),
        step_down: step("step-down", default.step_down),
        damping: table.flag("damping"),
    }
}

fn predictive(table: &Table<'_, '_>) -> Predictive {
    let (season, step) = (table.duration("season"), table.duration("step"));
    if let Some(node) = table.get("step").or_else(|| table.get("season")) {
        let steps = season.0 / step.0.max(1);
        if !(2..=Predictive::STEPS_MAX).contains(&steps) {
            let message = format!("the season has {steps} steps; 2 to {} make sense", Predictive::STEPS_MAX);
            table.error("step", node.span, message);
        } else if season.0 % step.0.max(1) != 0 {
            table.error("step", node.span, format!("the season, {season}, is no whole number of steps"));
        }
    }
    Predictive {
        target: target(table),
        season: season.duration(),
        step: step.duration(),
        confidence: f64::from(table.share("confidence")) / 100.0,
        forecast: method(&table.text("forecast")),
    }
}

/// Returns the method of a name. An unknown name has been reported before.
fn method(name: &str) -> Method {
    Method::ALL.into_iter().find(|(known, _)| *known == name).map_or(Method::default(), |(_, method)| method)
}

fn schedule(table: &Table<'_, '_>, bounds: Bounds) -> Schedule {
    let floor = |(index, node): (usize, &Node)| {
        let floor = Table::new(table.cx, table.subject.entry(&FLOOR, index, node), &FLOOR, node);
        let servers: u32 = floor.number("servers");
        if let (Some(node), true) = (floor.get("servers"), servers > bounds.max && bounds.max > 0) {
            floor.error("servers", node.span, format!("{servers} is above max, {}", bounds.max));
        }
        let lasts = floor.duration("lasts").duration();
        Some(Floor { begins: floor.parse::<Cron>("begins")?.value, lasts, servers })
    };
    let written = table.many("floors");
    if written.is_empty() {
        table.error("floors", table.span(), "a schedule needs one");
    }
    Schedule { floors: written.iter().enumerate().filter_map(floor).collect() }
}
