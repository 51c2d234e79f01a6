//! A scenario and its pitfalls in plain words.

use weir_balance::Algorithm;
use weir_config::simulation::{
    AgentWord, Arrivals, BalancerPlan, Disturbance, Group, LoggedTimes, Pattern, PriorityShare, Scenario,
    Service, ServiceLaw, Sharing, SimTime, Volume,
};

use super::AlgorithmReport;
use super::recommendation::percent;

/// Describes the scenario, one item for each line.
pub(super) fn describe(scenario: &Scenario) -> Vec<String> {
    let mut lines: Vec<String> = scenario.groups.iter().map(servers).collect();
    const GROUPS_MAX: usize = 12;
    if lines.len() > GROUPS_MAX {
        let more = lines.len() - GROUPS_MAX;
        lines.truncate(GROUPS_MAX);
        lines.push(format!("and {more} more groups of servers: {} servers in all", scenario.servers()));
    }
    lines.push(arrivals(scenario));
    lines.push(service(&scenario.service, &scenario.arrivals));
    if scenario.static_share > 0.0 {
        let share = percent(scenario.static_share);
        lines.push(format!("classes: {share} of the requests make servers fetch, the others compute"));
    }
    let workers = match scenario.balancer.workers {
        1 => "1 worker".to_owned(),
        workers => format!("{workers} workers"),
    };
    let requests = match scenario.requests {
        Some(requests) => format!("{requests} requests a run"),
        None => "the whole log".to_owned(),
    };
    let seeds = match scenario.seeds {
        1 => "1 seed".to_owned(),
        seeds => format!("{seeds} seeds"),
    };
    lines.push(format!(
        "balancer: {workers}; {requests}, the first {} not measured, {seeds}",
        scenario.warm_up
    ));
    lines.extend(pool(&scenario.balancer));
    lines.extend(priorities(&scenario.priorities));
    lines
}

/// Describes the balancer's features besides choosing, if it has any.
fn pool(balancer: &BalancerPlan) -> Option<String> {
    let mut told = Vec::new();
    if balancer.sticky.is_some() {
        told.push("clients stay with their servers".to_owned());
    }
    if let Some(rule) = &balancer.slow_start {
        let window = SimTime(rule.window.0.saturating_mul(1_000_000));
        told.push(format!("servers that come up start slowly, for {window}"));
    }
    if balancer.ejection.is_some() {
        told.push("servers that fail requests are ejected".to_owned());
    }
    if balancer.breaker.is_some() {
        told.push("a breaker turns requests away while too many fail".to_owned());
    }
    if balancer.hedge.is_some() {
        told.push("who is not answered for long goes to another server as well".to_owned());
    }
    if balancer.concurrency.is_some() {
        told.push("servers' limits are found by latency".to_owned());
    }
    if let Some(max) = balancer.connections_max {
        told.push(format!("at most {max} requests at once"));
    }
    if let Some(max) = balancer.queue_length_max {
        told.push(format!("at most {max} wait"));
    }
    if let Some(max) = balancer.server_queue_max {
        told.push(format!("at most {max} wait for one server"));
    }
    if balancer.is_fair {
        told.push("clients take turns where they wait".to_owned());
    }
    (!told.is_empty()).then(|| format!("pool: {}", told.join("; ")))
}

fn priorities(parts: &[PriorityShare]) -> Option<String> {
    let part = |part: &PriorityShare| {
        let offset = match part.offset_ms {
            0 => String::new(),
            offset_ms => format!(" (offset {offset_ms} ms)"),
        };
        format!("{} of the requests have {}{offset}", percent(part.share), part.class)
    };
    let told: Vec<String> = parts.iter().map(part).collect();
    (!told.is_empty()).then(|| format!("priorities: {}, the others 0", told.join(", ")))
}

fn servers(group: &Group) -> String {
    let mut text = format!("{}: {} x {} slots", group.name, group.count, group.concurrency);
    if group.speed != 1.0 {
        text.push_str(&format!(" of speed {}", group.speed));
    }
    if let Some(static_speed) = group.static_speed {
        text.push_str(&format!(" (at fetching {static_speed})"));
    }
    if group.sharing == Sharing::Shared {
        text.push_str(", shared");
    }
    match group.auto_weight {
        Some(_) => text.push_str(", weight found by measurement"),
        None => text.push_str(&format!(", weight {}", group.weight)),
    }
    if group.backup {
        text.push_str(", backup");
    }
    if group.priority > 0 {
        text.push_str(&format!(", priority {}", group.priority));
    }
    if group.is_remote {
        text.push_str(", in another zone");
    }
    if let Some(max) = group.connections_max {
        text.push_str(&format!(", at most {max} at once"));
    }
    if group.added > SimTime(0) {
        text.push_str(&format!(", added at {}", group.added));
    }
    if let Some(cache) = group.cache {
        text.push_str(&format!(", cache of {} URIs ({} times as fast)", cache.uris, cache.speed_up));
    }
    for AgentWord { at, servers, says } in &group.agent {
        text.push_str(&format!("; {servers} agents say {says:?} at {at}"));
    }
    for disturbance in &group.disturbances {
        let (what, span) = match disturbance {
            Disturbance::Fail(span) => ("dead".to_owned(), span),
            Disturbance::Slow(slow) => (format!("at {} of the speed", percent(slow.speed)), &slow.span),
            Disturbance::Drain(drain) => {
                let what = if drain.is_maintenance { "in maintenance" } else { "drained" };
                (what.to_owned(), &drain.span)
            }
        };
        let end = SimTime(span.at.0.saturating_add(span.lasts.0));
        text.push_str(&format!("; {} of them {what} from {} to {end}", span.servers, span.at));
    }
    text
}

fn arrivals(scenario: &Scenario) -> String {
    let (pattern, volume) = match &scenario.arrivals {
        Arrivals::Replay(replay) => {
            let speed =
                if replay.speed == 1.0 { String::new() } else { format!(", {} times as fast", replay.speed) };
            return format!("arrivals: as in {}{speed}", replay.file.display());
        }
        Arrivals::Drawn { pattern, volume } => (pattern, volume),
    };
    let pattern = match pattern {
        Pattern::Constant => "at equal distances".to_owned(),
        Pattern::Poisson => "Poisson".to_owned(),
        Pattern::Bursty(burst) => {
            format!(
                "bursts of {} times the mean rate, {} long and {} apart on average",
                burst.factor, burst.on, burst.off
            )
        }
        Pattern::Daily { day, .. } => format!("a daily curve, a day lasts {day}"),
    };
    let capacity = scenario.capacity_per_s();
    let (rate, load) = match volume {
        Volume::Load(load) => (load * capacity, *load),
        Volume::PerSecond(rate) => (*rate, rate / capacity),
    };
    format!("arrivals: {pattern}, {}/s, {} of what the servers can do", rounded(rate), percent(load))
}

fn service(service: &Service, arrivals: &Arrivals) -> String {
    let mean = service.mean;
    let law = match service.law {
        ServiceLaw::Deterministic => format!("{mean} each"),
        ServiceLaw::Exponential => format!("exponential, mean {mean}"),
        ServiceLaw::Lognormal { deviation } => {
            format!("log-normal, mean {mean}, deviation {deviation} times that")
        }
        ServiceLaw::Pareto { shape, max } => format!("Pareto, mean {mean}, shape {shape}, at most {max}"),
        ServiceLaw::BySize { base, .. } => format!("{base} and more by size, mean {mean}"),
    };
    match arrivals {
        Arrivals::Replay(replay) if replay.times == LoggedTimes::Logged => {
            format!("service times: as logged; where nothing is, {law}")
        }
        Arrivals::Replay(replay) if replay.times == LoggedTimes::FirstByte => {
            format!("service times: as logged, to the first byte; where nothing is, {law}")
        }
        _ => format!("service times: {law}"),
    }
}

/// Returns remarks that are needed to judge the figures.
pub(super) fn notes(
    scenario: &Scenario,
    ranked: &[AlgorithmReport],
    has_sizes: bool,
    skipped: u64,
) -> Vec<String> {
    let mut notes = Vec::new();
    if ranked.iter().all(|report| report.utilisation.mean.mean > 0.98) {
        notes.push(
            "The servers are overloaded: queues grow for as long as a run lasts, and latencies say how long it was."
                .to_owned(),
        );
    }
    let first = ranked.iter().find(|report| report.algorithm == Algorithm::First);
    if first.is_some() && scenario.groups.iter().all(|group| group.connections_max.is_none()) {
        notes.push(
            "first fills one server after the other up to its max-connections; no server has any here."
                .to_owned(),
        );
    }
    if !has_sizes && ranked.iter().any(|report| report.algorithm == Algorithm::LeastBandwidth) {
        notes.push(
            "least-bandwidth goes by bytes, and nothing says how large requests are here: it takes turns, whatever the weights. Sizes come \
             from service times that go by size, or from a log that has them."
                .to_owned(),
        );
    }
    if !scenario.pool.left_out.is_empty() {
        notes.push(format!(
            "What the pool says besides and is not simulated: {}.",
            scenario.pool.left_out.join(", ")
        ));
    }
    let failed: Vec<String> = ranked
        .iter()
        .filter(|report| report.error_share.mean > 0.0)
        .map(|report| format!("{} {}", report.algorithm, precise_percent(report.error_share.mean)))
        .collect();
    if !failed.is_empty() {
        notes.push(format!("Requests that were not answered: {}.", failed.join(", ")));
    }
    let hedged: Vec<String> = ranked
        .iter()
        .filter_map(|report| {
            let (tries, won) = (report.hedge_share?.mean, report.hedge_won_share?.mean);
            Some(format!("{} {} ({} of them won)", report.algorithm, percent(tries), percent(won)))
        })
        .collect();
    if !hedged.is_empty() {
        notes.push(format!("Second tries, of all requests: {}.", hedged.join(", ")));
    }
    if skipped > 0 {
        notes.push(format!("{skipped} lines of the log asked no server and were passed over."));
    }
    notes
}

/// Formats a share that may be tiny.
fn precise_percent(share: f64) -> String {
    if share < 0.001 { format!("{:.4}%", share * 100.0) } else { format!("{:.2}%", share * 100.0) }
}

/// Formats a value with at least three digits.
fn rounded(value: f64) -> String {
    if value >= 100.0 {
        format!("{value:.0}")
    } else {
        format!("{value:.3}").trim_end_matches('0').trim_end_matches('.').to_owned()
    }
}
