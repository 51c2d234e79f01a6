//! How much a pool and its servers take at once, who waits meanwhile, and what keeps requests away.

use weir_balance::{ConcurrencyAlgorithm, ConcurrencyRule};
use weir_health::BreakerRule;

use super::header::check_name;
use crate::plan::{Fairness, HedgePlan, QueuePlan};
use crate::table::Table;

pub(super) fn queue(table: &Table<'_, '_>) -> QueuePlan {
    let by_header = table.table("fair").text_if("header");
    if let Some(name) = &by_header {
        check_name(table, "fair", name.span, &name.value);
    }
    QueuePlan {
        length_max: table.number_if("max-length"),
        fair: match by_header {
            Some(name) => Fairness::Header(name.value),
            None if table.text("fair") == "client" => Fairness::Client,
            None => Fairness::None,
        },
    }
}

pub(super) fn concurrency(pool: &Table<'_, '_>) -> Option<ConcurrencyRule> {
    if pool.is_off("concurrency") {
        return None;
    }
    let table = pool.table("concurrency");
    let is_aimd = table.text("algorithm") == "aimd";
    let misplaced = if is_aimd { "tolerance" } else { "max-latency" };
    if let Some(node) = table.get(misplaced) {
        table.error(
            misplaced,
            node.span,
            format!("algorithm {:?} has no use for it", table.text("algorithm")),
        );
    }
    let latency_max = table.duration_if("max-latency");
    if is_aimd && latency_max.is_none() {
        let help = "for example: max-latency = \"200ms\"".to_owned();
        table.report("max-latency", table.span(), "missing: \"aimd\" goes by it", Some(help));
    }
    let (min, max) = (table.number("min"), table.number("max"));
    if min > max {
        let key = if table.get("min").is_some() { "min" } else { "max" };
        let span = table.get(key).map_or(table.span(), |node| node.span);
        table.error(key, span, format!("min {min} is above max {max}"));
    }
    let algorithm = match latency_max {
        Some(latency) if is_aimd => {
            ConcurrencyAlgorithm::Aimd { latency_max_us: latency.0.saturating_mul(1_000) }
        }
        _ => ConcurrencyAlgorithm::Gradient { tolerance_percent: table.percent("tolerance") },
    };
    Some(ConcurrencyRule { algorithm, min, max })
}

pub(super) fn breaker(pool: &Table<'_, '_>) -> Option<BreakerRule> {
    let table = pool.table("breaker");
    (!pool.is_off("breaker")).then(|| BreakerRule {
        error_percent: table.percent("errors"),
        requests_min: table.number("min-requests"),
        window: table.duration("window"),
        open: table.duration("open"),
        probes: table.number("half-open-requests"),
    })
}

/// A second try cannot keep a client with its server: whoever is sticky has none.
pub(super) fn hedge(pool: &Table<'_, '_>) -> Option<HedgePlan> {
    if pool.is_off("hedge") {
        return None;
    }
    if let (false, Some(node)) = (pool.is_off("sticky"), pool.get("hedge")) {
        let why =
            "a pool with sticky has none: a second try goes to a server that the client is not bound to";
        pool.error("hedge", node.span, why);
    }
    Some(HedgePlan { delay: pool.table("hedge").duration_if("delay") })
}
