//! Reads scaling rules from a tree whose shape has been checked. Reports values that do not fit together.

use weir_model::Name;
use weir_scale::{
    Bounds, CapacityRule, Combination, CoolDown, Rules, SignalKind, SignalRule, Standby, Statistic,
};

use super::keys::{FILE, RULES, SIGNAL};
use super::{NamedRules, policies};
use crate::schema::Section;
use crate::syntax::context::Context;
use crate::syntax::tree::Node;
use crate::values::subject::Subject;
use crate::values::table::Table;

pub(super) fn file(cx: &Context<'_>, root: &Node) -> Vec<NamedRules> {
    let table = Table::new(cx, Subject::default(), &FILE, root);
    let entries = table.get("rules").map_or(&[][..], Node::entries);
    let read = |(name, node): &(crate::syntax::source::Located<String>, Node)| {
        let table = Table::new(cx, Subject::default().named("rules", &name.value), &RULES, node);
        match Name::new(&name.value) {
            Ok(named) => {
                let capacity = CapacityRule::given(table.decimal("capacity"));
                Some(NamedRules { name: named, rules: rules(&table, &SIGNAL, capacity) })
            }
            Err(cause) => {
                cx.report(crate::syntax::diagnostic::Problem::error(
                    name.span,
                    format!("rules {}: {cause}", crate::syntax::tree::short(&name.value)),
                ));
                None
            }
        }
    };
    entries.iter().filter_map(read).collect()
}

/// Reads rules from a table with the shared keys. `section`: the keys of a signal.
pub(crate) fn rules(table: &Table<'_, '_>, section: &'static Section, capacity: CapacityRule) -> Rules {
    let bounds =
        Bounds { min: table.number("min"), max: table.number("max"), quota: table.number_if("quota") };
    let keep = table.number_if("standby").unwrap_or(bounds.max.saturating_sub(bounds.min));
    let standby = Standby { keep, prepare: table.number("prepared") };
    fit(table, bounds, standby);
    Rules {
        bounds,
        signals: signals(table, section),
        combination: match table.text("combine").as_str() {
            "mean" => Combination::Mean,
            "min" => Combination::Min,
            _ => Combination::Max,
        },
        policies: policies::read(table, bounds),
        cool_down: CoolDown {
            up: table.duration("cool-down-up").duration(),
            down: table.duration("cool-down-down").duration(),
        },
        standby,
        start_up: table.duration("start-up").duration(),
        wake_up: table.duration("wake-up").duration(),
        drain_deadline: table.duration("drain-deadline").duration(),
        capacity,
        ..Rules::by_requests(1, 1, 1.0)
    }
}

/// Reports bounds that contradict each other.
fn fit(table: &Table<'_, '_>, bounds: Bounds, standby: Standby) {
    let complain = |key: &str, message: String, help: &str| {
        // A missing or invalid number has been reported before.
        if let Some(node) = table.get(key).filter(|node| node.integer().is_some()) {
            table.report(key, node.span, message, Some(help.to_owned()));
        }
    };
    let Bounds { min, max, quota } = bounds;
    if min > max && max > 0 {
        complain("min", format!("{min} is above max, {max}"), "min is for quiet times, max for busy ones");
    }
    if let Some(quota) = quota.filter(|quota| *quota < max) {
        complain(
            "quota",
            format!("{quota} is below max, {max}"),
            "the quota is for all servers, stopped ones too",
        );
    }
    if standby.keep > max && max > 0 {
        complain("standby", format!("{} is above max, {max}", standby.keep), "more than max are never woken");
    }
    if standby.prepare > standby.keep {
        complain(
            "prepared",
            format!("{} is above standby, {}", standby.prepare, standby.keep),
            "what is made in advance is kept as standby",
        );
    }
}

fn signals(table: &Table<'_, '_>, section: &'static Section) -> Vec<SignalRule> {
    let written = table.many("signals");
    let mut kinds = Vec::new();
    let mut signals = Vec::new();
    for (index, node) in written.iter().enumerate() {
        let subject = table.subject.entry(section, index, node);
        let signal = Table::new(table.cx, subject, section, node);
        let named = signal.text("kind");
        let kind = SignalKind::ALL.into_iter().find(|kind| kind.name() == named);
        let kind = kind.unwrap_or(SignalKind::Requests);
        if kinds.contains(&kind) {
            signal.error("kind", node.span, format!("{} is there twice", kind.name()));
        }
        kinds.push(kind);
        let per_server = signal.decimal_if("per-server");
        match (kind, signal.get("per-server")) {
            (SignalKind::Requests, Some(node)) => {
                signal.error(
                    "per-server",
                    node.span,
                    "requests have none: capacity says what a server can do",
                );
            }
            (SignalKind::Requests, None) | (_, Some(_)) => {}
            (SignalKind::Latency, None) => {
                signal.error("per-server", node.span, "latency needs one: seconds, such as 0.5");
            }
            (SignalKind::Cpu, None) => {
                signal.error("per-server", node.span, "cpu needs one: a share of 1, such as 0.7");
            }
            (_, None) => {
                signal.error("per-server", node.span, format!("{} needs one, such as 50", kind.name()));
            }
        }
        signals.push(SignalRule {
            kind,
            // Unused for requests.
            per_server: per_server.unwrap_or(if kind == SignalKind::Requests { 0.0 } else { 1.0 }),
            statistic: match signal.text("statistic").as_str() {
                "max" => Statistic::Max,
                "p50" => Statistic::Percentile(0.5),
                "p90" => Statistic::Percentile(0.9),
                "p95" => Statistic::Percentile(0.95),
                "p99" => Statistic::Percentile(0.99),
                _ => Statistic::Mean,
            },
            window: signal.duration("window").duration(),
        });
    }
    match table.get("signals") {
        Some(node) if signals.is_empty() => table.error("signals", node.span, "there is none"),
        _ => {}
    }
    if signals.is_empty() {
        signals.push(SignalRule::latest(SignalKind::Requests, 0.0));
    }
    signals
}
