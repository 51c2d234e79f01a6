//! Reads a scenario from a tree whose shape has been checked. Reports values that do not fit together.

use weir_balance::Algorithm;

use super::keys::{SCENARIO, SERVERS};
use super::{
    AgentWord, Arrivals, AtOnceRule, BalancerPlan, BudgetRule, Burst, CachePlan, Disturbance, Drain, Failure,
    FoundWeights, Group, LogFormat, LoggedTimes, Measure, Pattern, PoolRules, Population, PriorityShare,
    Replay, Scenario, Service, ServiceLaw, Sharing, SimKey, SimTime, SlowDown, StickySessions, Volume,
};
use crate::plan::{WhenBusy, WhenGone};
use crate::pool;
use crate::pool::{auto_weight, limits, spread};
use crate::syntax::context::Context;
use crate::syntax::source::Span;
use crate::syntax::tree::Node;
use crate::values::subject::Subject;
use crate::values::table::Table;

/// Maximum number of servers; no pool is larger.
const SERVERS_MAX: u64 = 100_000;
/// Maximum number of entries of all caches together, at about 50 bytes each.
const CACHED_URIS_MAX: u64 = 50_000_000;

/// Relative load of an office day, by hour from midnight.
const OFFICE_DAY: [f64; 24] = [
    0.25, 0.2, 0.15, 0.15, 0.15, 0.2, 0.35, 0.7, 1.2, 1.7, 1.9, 1.85, 1.6, 1.7, 1.85, 1.8, 1.65, 1.4, 1.2,
    1.1, 1.05, 0.9, 0.6, 0.4,
];

pub(super) fn scenario(cx: &Context<'_>, root: &Node) -> Scenario {
    let table = Table::new(cx, Subject::default(), &SCENARIO, root);
    let is_replay = table.get("replay").is_some();
    if let (true, Some(node)) = (is_replay, table.get("arrivals")) {
        table.error("arrivals", node.span, "there is a replay, which says when requests come");
    }
    let requests = table.number_if("requests").or((!is_replay).then_some(100_000));
    let tenth = if is_replay { 0 } else { requests.unwrap_or(0) / 10 };
    let warm_up = table.number_if("warm-up").unwrap_or(tenth);
    if let Some(requests) = requests.filter(|requests| warm_up >= *requests) {
        let message = format!("nothing is left to be measured of {requests} requests");
        table.error("warm-up", span_of(&table, "warm-up"), message);
    }
    let values = table.table_if("values").map(|table| population(&table));
    let balancing = table.table("balancer");
    let balancer = balancer(&balancing);
    if balancer.key == SimKey::Value && values.is_none() {
        let message =
            "requests bring no values: say how many there are, for example values = { count = 200 }";
        balancing.error("key", span_of(&balancing, "key"), message);
    }
    Scenario {
        algorithms: algorithms(&table),
        in_use: None,
        pool: PoolRules::default(),
        requests,
        warm_up,
        seed: table.number("seed"),
        seeds: table.number("seeds"),
        rank_by: choice(
            &table,
            "rank-by",
            &Measure::ALL.map(|measure| (measure.name(), measure)),
            Measure::P99,
        ),
        arrivals: if is_replay { Arrivals::Replay(replay(&table.table("replay"))) } else { arrivals(&table) },
        service: service(&table.table("service")),
        static_share: table.table("service").decimal("static"),
        clients: population(&table.table("clients")),
        uris: population(&table.table("uris")),
        values,
        priorities: priorities(&table),
        balancer,
        groups: groups(&table),
    }
}

fn algorithms(table: &Table<'_, '_>) -> Vec<Algorithm> {
    let mut algorithms = Vec::new();
    for node in table.many("algorithms") {
        let Some(algorithm) = node.text().and_then(|name| name.parse::<Algorithm>().ok()) else { continue };
        if algorithms.contains(&algorithm) {
            table.error("algorithms", node.span, format!("{algorithm} is there twice"));
        }
        algorithms.push(algorithm);
    }
    match table.get("algorithms") {
        None => algorithms.extend(Algorithm::ALL),
        Some(node) if node.one_or_many().is_empty() => table.error("algorithms", node.span, "there is none"),
        Some(_) => {}
    }
    algorithms
}

fn arrivals(root: &Table<'_, '_>) -> Arrivals {
    let table = root.table("arrivals");
    let volume = match (table.decimal_if("load"), table.decimal_if("rate")) {
        (Some(_), Some(_)) => {
            table.error("rate", span_of(&table, "rate"), "there is a load, which says the same");
            Volume::Load(0.8)
        }
        (load, None) => Volume::Load(load.unwrap_or(0.8)),
        (None, Some(rate)) => Volume::PerSecond(rate),
    };
    let pattern = match table.text("pattern").as_str() {
        "constant" => Pattern::Constant,
        "bursty" => Pattern::Bursty(burst(&table.table("burst"))),
        "daily" => daily(&table),
        _ => Pattern::Poisson,
    };
    for (key, of) in [("burst", "bursty"), ("curve", "daily"), ("day", "daily")] {
        if let (Some(node), false) = (table.get(key), table.text("pattern") == of) {
            table.error(key, node.span, format!("only pattern = {of:?} has it"));
        }
    }
    Arrivals::Drawn { pattern, volume }
}

fn burst(table: &Table<'_, '_>) -> Burst {
    let burst = Burst { factor: table.decimal("factor"), on: long(table, "on"), off: long(table, "off") };
    let factor_max = (burst.on.seconds() + burst.off.seconds()) / burst.on.seconds().max(1e-9);
    if burst.factor > factor_max {
        let message = format!(
            "{} is too much: bursts last {:.3} of the time, so that at most {factor_max:.3} times the mean rate fits in",
            burst.factor,
            1.0 / factor_max
        );
        table.error("factor", span_of(table, "factor"), message);
    }
    burst
}

fn daily(table: &Table<'_, '_>) -> Pattern {
    let day = long(table, "day");
    let curve = match table.get("curve") {
        None => OFFICE_DAY.to_vec(),
        Some(node) => {
            let curve: Vec<f64> = node.one_or_many().iter().filter_map(Node::decimal).collect();
            if !curve.iter().any(|rate| *rate > 0.0) {
                table.error("curve", node.span, "nothing ever comes");
            }
            curve
        }
    };
    Pattern::Daily { curve, day }
}

fn replay(table: &Table<'_, '_>) -> Replay {
    let formats = [
        ("auto", LogFormat::Auto),
        ("common", LogFormat::Common),
        ("combined", LogFormat::Combined),
        ("httplog", LogFormat::Httplog),
        ("json", LogFormat::Json),
        ("csv", LogFormat::Csv),
    ];
    let times = [
        ("logged", LoggedTimes::Logged),
        ("first-byte", LoggedTimes::FirstByte),
        ("drawn", LoggedTimes::Drawn),
    ];
    Replay {
        file: table.text("file").into(),
        format: choice(table, "format", &formats, LogFormat::Auto),
        speed: table.decimal("speed"),
        times: choice(table, "times", &times, LoggedTimes::Logged),
    }
}

fn service(table: &Table<'_, '_>) -> Service {
    let mean = long(table, "mean");
    let deviation = table.decimal("deviation");
    let law = table.text("distribution");
    let owners: [(&str, &[&str]); 7] = [
        ("mean", &["exponential", "deterministic", "lognormal", "pareto"]),
        ("deviation", &["lognormal", "by-size"]),
        ("shape", &["pareto"]),
        ("max", &["pareto"]),
        ("base", &["by-size"]),
        ("bandwidth", &["by-size"]),
        ("size", &["by-size"]),
    ];
    for (key, of) in owners {
        if let (Some(node), false) = (table.get(key), of.contains(&law.as_str())) {
            table.error(
                key,
                node.span,
                format!("distribution = {law:?} has none; it is for {}", of.join(", ")),
            );
        }
    }
    match law.as_str() {
        "deterministic" => Service { law: ServiceLaw::Deterministic, mean },
        "lognormal" => Service { law: ServiceLaw::Lognormal { deviation }, mean },
        "pareto" => {
            let max = match table.get("max") {
                Some(_) => time(table, "max"),
                None => SimTime(mean.0.saturating_mul(1000)).min(SimTime::MAX),
            };
            if max <= mean {
                table.error("max", span_of(table, "max"), format!("the mean, {mean}, must be less"));
            }
            Service { law: ServiceLaw::Pareto { shape: table.decimal("shape"), max }, mean }
        }
        "by-size" => {
            let bandwidth = table.byte_rate("bandwidth");
            if bandwidth == 0 {
                table.error("bandwidth", span_of(table, "bandwidth"), "nothing would ever end");
            }
            let (base, size) = (time(table, "base"), table.size("size").0);
            let mean = SimTime::from_seconds(base.seconds() + size as f64 / bandwidth.max(1) as f64);
            if mean == SimTime(0) {
                table.error("size", span_of(table, "size"), "a request is no work at all");
            }
            Service { law: ServiceLaw::BySize { base, bandwidth, size, deviation }, mean }
        }
        _ => Service { law: ServiceLaw::Exponential, mean },
    }
}

fn population(table: &Table<'_, '_>) -> Population {
    Population { count: table.number("count"), zipf: table.decimal("zipf") }
}

fn priorities(root: &Table<'_, '_>) -> Vec<PriorityShare> {
    let part = |at| {
        let table = root.nth("priorities", at);
        PriorityShare {
            share: table.decimal("share"),
            class: table.number("class"),
            offset_ms: table.number("offset-ms"),
        }
    };
    let parts: Vec<PriorityShare> = (0..root.many("priorities").len()).map(part).collect();
    let whole: f64 = parts.iter().map(|part| part.share).sum();
    if whole > 1.0 + 1e-9 {
        let message = format!("the shares are {whole} in all; at most 1");
        root.error("priorities", span_of(root, "priorities"), message);
    }
    parts
}

fn balancer(table: &Table<'_, '_>) -> BalancerPlan {
    BalancerPlan {
        workers: table.number("workers"),
        key: choice(
            table,
            "key",
            &[("client", SimKey::Client), ("uri", SimKey::Uri), ("value", SimKey::Value)],
            SimKey::Auto,
        ),
        retries: table.number("retries"),
        retries_lost: table.flag("retry-lost"),
        retry_budget: (!table.is_off("retry-budget")).then(|| budget(&table.table("retry-budget"))),
        queue: time(table, "queue"),
        queue_length_max: table.number_if("queue-length"),
        server_queue_max: table.number_if("server-queue-length"),
        is_fair: table.flag("fair"),
        connections_max: table.number_if("max-connections"),
        sticky: (!table.is_off("sticky")).then(|| sticky(&table.table("sticky"))),
        slow_start: spread::read::slow_start(table),
        auto_weight: found_weights(&table.table("auto-weight")),
        concurrency: limits::read::concurrency(table),
        ejection: (!table.is_off("eject")).then(|| pool::read::ejection(&table.table("eject"))),
        breaker: limits::read::breaker(table),
        hedge: limits::read::hedge(table),
        down_after: time(table, "down-after"),
        up_after: time(table, "up-after"),
        network: time(table, "network"),
    }
}

fn budget(table: &Table<'_, '_>) -> BudgetRule {
    let at_once = table.get("at-once");
    if let (Some(node), None) = (table.get("min-at-once"), at_once) {
        table.error("min-at-once", node.span, "only with at-once");
    }
    let min = table.number("min-at-once");
    BudgetRule {
        percent: table.percent("share"),
        per_second: table.number("min-per-second"),
        at_once: at_once.map(|_| AtOnceRule { percent: table.percent("at-once"), min }),
    }
}

fn found_weights(table: &Table<'_, '_>) -> FoundWeights {
    FoundWeights { interval: table.duration("interval"), rule: auto_weight::rule(table) }
}

fn sticky(table: &Table<'_, '_>) -> StickySessions {
    let when_gone = [("redispatch", WhenGone::Redispatch), ("fail", WhenGone::Fail)];
    let when_busy = [("wait", WhenBusy::Wait), ("redispatch", WhenBusy::Redispatch)];
    StickySessions {
        size: table.number("size"),
        expire: long(table, "expire"),
        life_max: table.get("max-life").map(|_| long(table, "max-life")),
        when_gone: choice(table, "when-gone", &when_gone, WhenGone::Redispatch),
        when_busy: choice(table, "when-busy", &when_busy, WhenBusy::Wait),
    }
}

fn groups(root: &Table<'_, '_>) -> Vec<Group> {
    let Some(list) = root.get("servers") else { return vec![Group::default()] };
    let read = |(index, node): (usize, &Node)| {
        let subject = Subject::default().entry(&SERVERS, index, node);
        group(&Table::new(root.cx, subject, &SERVERS, node), index)
    };
    let groups: Vec<Group> = list.one_or_many().iter().enumerate().map(read).collect();
    let servers: u64 = groups.iter().map(|group| u64::from(group.count)).sum();
    if servers == 0 {
        root.error("servers", list.span, "there is none");
    } else if servers > SERVERS_MAX {
        root.error("servers", list.span, format!("{servers} servers in all; at most {SERVERS_MAX}"));
    }
    let cached =
        |group: &Group| group.cache.map_or(0, |cache| u64::from(group.count) * u64::from(cache.uris));
    let cached: u64 = groups.iter().map(cached).sum();
    if cached > CACHED_URIS_MAX {
        let message =
            format!("the caches hold {cached} URIs in all; at most {CACHED_URIS_MAX} fit into memory");
        root.error("servers", list.span, message);
    }
    groups
}

fn group(table: &Table<'_, '_>, index: usize) -> Group {
    let (weight, auto_weight) = auto_weight::weight(table);
    let count = table.number("count");
    let fails = table.many("fail").len();
    let mut disturbances: Vec<Disturbance> =
        (0..fails).map(|at| Disturbance::Fail(span(&table.nth("fail", at), count))).collect();
    for at in 0..table.many("slow").len() {
        let slow = table.nth("slow", at);
        disturbances
            .push(Disturbance::Slow(SlowDown { span: span(&slow, count), speed: slow.decimal("speed") }));
    }
    for at in 0..table.many("drain").len() {
        let drain = table.nth("drain", at);
        let is_maintenance = drain.flag("maintenance");
        disturbances.push(Disturbance::Drain(Drain { span: span(&drain, count), is_maintenance }));
    }
    Group {
        name: table.text_if("name").map_or_else(|| format!("group {}", index + 1), |name| name.value),
        count,
        speed: table.decimal("speed"),
        static_speed: table.decimal_if("static-speed"),
        concurrency: table.number("concurrency"),
        sharing: choice(
            table,
            "sharing",
            &[("fifo", Sharing::Fifo), ("shared", Sharing::Shared)],
            Sharing::Fifo,
        ),
        weight,
        auto_weight,
        backup: table.flag("backup"),
        priority: 0,
        is_remote: false,
        connections_max: table.number_if("max-connections"),
        added: time(table, "added"),
        cache: table
            .table_if("cache")
            .map(|cache| CachePlan { uris: cache.number("uris"), speed_up: cache.decimal("speed-up") }),
        disturbances,
        agent: (0..table.many("agent").len()).map(|at| agent(&table.nth("agent", at), count)).collect(),
    }
}

const AGENT_WORDS: &str = "an agent says up, down, fail, stopped, ready, drain, maint, 75% or maxconn:30";

fn agent(table: &Table<'_, '_>, count: u32) -> AgentWord {
    let says = table.text("says");
    // Parses as the proxy does, but treats unknown words as errors.
    let complaint = match weir_wire::agent::parse(says.as_bytes()) {
        None => Some("says nothing".to_owned()),
        Some(reply) => reply.unknown.map(|word| format!("{word:?} means nothing; {AGENT_WORDS}")),
    };
    if let (Some(node), Some(complaint)) = (table.get("says").filter(|node| node.text().is_some()), complaint)
    {
        table.error("says", node.span, complaint);
    }
    AgentWord { at: time(table, "at"), servers: servers(table, count), says }
}

fn span(table: &Table<'_, '_>, count: u32) -> Failure {
    Failure { at: time(table, "at"), lasts: long(table, "for"), servers: servers(table, count) }
}

/// Reads the number of servers of a group, counted from the first one.
fn servers(table: &Table<'_, '_>, count: u32) -> u32 {
    let servers: u32 = table.number("servers");
    if servers > count {
        table.error("servers", span_of(table, "servers"), format!("the group has {count} only"));
    }
    servers
}

/// Reads a time. Reports a text that is not a time.
fn time(table: &Table<'_, '_>, key: &str) -> SimTime {
    let written = table.get(key).and_then(|_| table.parse::<SimTime>(key));
    written.map(|time| time.value).or_else(|| table.default(key).parse().ok()).unwrap_or_default()
}

/// Reads a time above 0.
fn long(table: &Table<'_, '_>, key: &str) -> SimTime {
    let value = time(table, key);
    if let (Some(node), SimTime(0)) = (table.get(key).filter(|node| node.text().is_some()), value)
        && node.text().is_some_and(|text| text.parse::<SimTime>().is_ok())
    {
        table.error(key, node.span, "must be more than 0");
    }
    value
}

fn choice<T: Copy>(table: &Table<'_, '_>, key: &str, choices: &[(&str, T)], otherwise: T) -> T {
    let name = table.text(key);
    choices.iter().find(|(there, _)| *there == name).map_or(otherwise, |(_, value)| *value)
}

fn span_of(table: &Table<'_, '_>, key: &str) -> Span {
    table.get(key).map_or(table.span(), |node| node.span)
}
