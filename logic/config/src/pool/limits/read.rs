//! Reads the limits of a pool and its servers, its queue, and its circuit breaker.

use weir_balance::{ConcurrencyAlgorithm, ConcurrencyRule};
use weir_health::BreakerRule;
use weir_model::Millis;

use crate::common::header::check_name;
use crate::pool::plan::{Fairness, HedgePlan, PoolPlan, QueuePlan};
use crate::pool::sticky::plan::WhenBusy;
use crate::syntax::diagnostic::Problem;
use crate::values::table::Table;

pub(crate) fn queue(table: &Table<'_, '_>) -> QueuePlan {
    let by_header = table.table("fair").text_if("header");
    if let Some(name) = &by_header {
        check_name(table, "fair", name.span, &name.value);
    }
    QueuePlan {
        length_max: table.number_if("max-length"),
        server_length_max: table.number_if("max-per-server"),
        fair: match by_header {
            Some(name) => Fairness::Header(name.value),
            None if table.text("fair") == "client" => Fairness::Client,
            None => Fairness::None,
        },
    }
}

/// A hint about the settings without which no request ever waits.
pub(crate) const LIMIT_HELP: &str =
    "set max-connections in the pool or its servers, or concurrency to have the limits found";

/// Returns true if nothing limits the requests in flight of a pool. Returns false for a pool with an agent,
/// which may set limits, and for an empty pool, whose later servers may have limits.
pub(crate) fn is_unlimited(plan: &PoolPlan) -> bool {
    plan.connections_max.is_none()
        && plan.concurrency.is_none()
        && plan.agent.is_none()
        && !plan.servers.is_empty()
        && plan.servers.iter().all(|server| server.connections_max.is_none())
}

/// Default for pools with limits: a request that waits for its client's body would occupy the slot of another
/// one.
const COLLECTED_WHERE_LIMITED: u64 = 16 << 10;

/// Returns the maximum size of a body that Weir reads before it chooses a server.
pub(crate) fn collected_body_bytes_max(pool: &Table<'_, '_>, plan: &PoolPlan) -> Option<u64> {
    match pool.get("buffer-requests") {
        Some(_) if pool.is_off("buffer-requests") => None,
        Some(_) => Some(pool.size("buffer-requests").0),
        None => (!is_unlimited(plan)).then_some(COLLECTED_WHERE_LIMITED),
    }
}

/// Warns about queue settings if no request ever waits. A value that equals the default is permitted.
pub(crate) fn warn_of_queue(pool: &Table<'_, '_>, plan: &PoolPlan) {
    let (queue, timeouts) = (pool.table("queue"), pool.table("timeouts"));
    let written = [
        (&queue, "max-length", plan.queue.length_max.is_some()),
        (&queue, "max-per-server", plan.queue.server_length_max.is_some()),
        (&queue, "fair", plan.queue.fair != Fairness::None),
        (&timeouts, "queue", plan.timeouts.queue != QUEUE_TIMEOUT && plan.timeouts.queue.0 > 0),
    ];
    for (table, key, is_meant) in written {
        if let (Some(node), true) = (table.get(key), is_meant) {
            let message = format!(
                "{}: no effect: nothing limits how many requests are in flight, so that none waits",
                table.subject.key(key)
            );
            table.cx.report(Problem::warning(node.span, message).help(LIMIT_HELP));
        }
    }
}

/// Warns about queue limits per server if no request waits for one server: without such a binding, it waits
/// for any of them.
pub(crate) fn warn_of_server_queues(pool: &Table<'_, '_>, plan: &PoolPlan) {
    let queue = pool.table("queue");
    let waits_for_one = plan.sticky.as_ref().is_some_and(|sticky| sticky.when_busy == WhenBusy::Wait)
        || !plan.hash.options.fallback;
    if let (Some(node), false) = (queue.get("max-per-server"), waits_for_one) {
        let message =
            format!("{}: no effect: nobody waits for one server", queue.subject.key("max-per-server"));
        let help = "clients of sticky do where when-busy = \"wait\", and keys where fallback = false";
        queue.cx.report(Problem::warning(node.span, message).help(help));
    }
}

/// Default of `timeouts.queue`.
const QUEUE_TIMEOUT: Millis = Millis(1_000);

/// Reads `concurrency = { ... }`, of a pool or of a scenario's balancer.
pub(crate) fn concurrency(pool: &Table<'_, '_>) -> Option<ConcurrencyRule> {
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

/// Reads `breaker = { ... }`, of a pool or of a scenario's balancer.
pub(crate) fn breaker(pool: &Table<'_, '_>) -> Option<BreakerRule> {
    let table = pool.table("breaker");
    (!pool.is_off("breaker")).then(|| BreakerRule {
        error_percent: table.percent("errors"),
        requests_min: table.number("min-requests"),
        window: table.duration("window"),
        open: table.duration("open"),
        probes: table.number("half-open-requests"),
    })
}

/// Reads `hedge`. A pool with `sticky` cannot have it, because the second attempt goes to another server.
pub(crate) fn hedge(pool: &Table<'_, '_>) -> Option<HedgePlan> {
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
