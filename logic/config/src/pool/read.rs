//! Reads `[pool.NAME]` with its servers.

use std::collections::{BTreeMap, HashMap};

use weir_balance::{Membership, Portion, Subset};
use weir_health::EjectionRule;
use weir_http::Lenient;
use weir_model::{Name, PoolName, ServerAddress, ServerName, Weight, ZoneName};

use super::keys::{POOL, SERVER};
use super::offload::read::AreaReference;
use super::plan::{
    CheckKind, ConnectionReuse, NobodyLeft, PoolPlan, ProxyProtocolOut, RetryPlan, ServerPlan, ServerTimeouts,
};
use super::{auto_weight, balance, check, limits, offload, parts, redirect, spread, sticky};
use crate::common::{header, names, zone};
use crate::syntax::context::Context;
use crate::syntax::diagnostic::Problem;
use crate::syntax::source::{Located, Span};
use crate::syntax::tree::{Node, Value};
use crate::tls;
use crate::values::subject::Subject;
use crate::values::table::Table;

/// The values of `[pool.NAME]`. A pool refers to nothing outside of it except storage areas.
#[derive(Debug)]
pub(crate) struct PoolSpec {
    pub(crate) name: Located<PoolName>,
    pub(crate) plan: PoolPlan,
    /// Position of the key, or of `balance` if there is no key.
    pub(crate) key_at: Option<Span>,
    /// True if the file gives a key.
    pub(crate) has_key: bool,
    /// Position of `sticky`.
    pub(crate) sticky_at: Option<Span>,
    /// Position of the key that turns on measured weights.
    pub(crate) auto_weight_at: Option<Span>,
    pub(crate) zone: spread::read::ZoneSpec,
    /// True if nothing limits the requests in flight, so that no request ever waits.
    pub(crate) is_unlimited: bool,
    /// Storage areas that the pool refers to.
    pub(crate) areas: Vec<AreaReference>,
    /// Position of the empty `servers`, or of the pool if the key is absent; `None` = the pool has servers.
    pub(crate) empty_at: Option<Span>,
}

impl PoolSpec {
    /// Returns the plan. A pool without a zone of its own uses that of the process.
    pub(crate) fn in_zone(self, process: Option<&ZoneName>) -> PoolPlan {
        let zone = self.zone.own.or_else(|| process.cloned()).filter(|_| !self.zone.is_off);
        let zones = zone.as_ref().map(|_| self.zone.rule);
        PoolPlan { zone, membership: Membership { zones, ..self.plan.membership }, ..self.plan }
    }
}

pub(crate) fn read(cx: &Context<'_>, name: &Located<String>, node: &Node) -> Option<PoolSpec> {
    let table = Table::new(cx, Subject::default().named("pool", &name.value), &POOL, node);
    let tls = (!table.is_off("tls")).then(|| tls::read::outbound(&table.table("tls")));
    if let (Some(node), Some(false)) = (table.table("tls").get("verify"), tls.as_ref().map(|tls| tls.verify))
    {
        let message = format!("{}: servers are not verified", table.subject.key("tls"));
        cx.report(
            Problem::warning(node.span, message).help("name their authority with ca = \"file\" instead"),
        );
    }
    let name = names::name(cx, "pool", name)?;
    let (offload, areas) = offload::read::read(&table);
    let (algorithm, hash, measure) = balance::read::read(&table);
    let servers = servers(&table);
    let mut plan = PoolPlan {
        name: name.value.clone(),
        algorithm,
        hash,
        sticky: sticky::read::read(&table),
        measure,
        redirect: redirect::read::read(
            &table,
            &servers.iter().map(|server| &server.name).collect::<Vec<_>>(),
        ),
        servers,
        connections_max: table.number_if("max-connections"),
        queue: limits::read::queue(&table.table("queue")),
        concurrency: limits::read::concurrency(&table),
        check: check::read(&table),
        agent: spread::read::agent(&table),
        slow_start: spread::read::slow_start(&table),
        auto_weight: auto_weight::read(&table),
        membership: Membership {
            min_healthy_percent: table.percent("min-healthy"),
            zones: None,
            subset: spread::read::subset(&table),
        },
        zone: None,
        ejection: (!table.is_off("eject")).then(|| ejection(&table.table("eject"))),
        breaker: limits::read::breaker(&table),
        tls,
        proxy_protocol: match table.text_if("proxy-protocol") {
            Some(version) if version.value == "v1" => Some(ProxyProtocolOut::V1),
            Some(_) => Some(ProxyProtocolOut::V2),
            None => None,
        },
        timeouts: timeouts(&table.table("timeouts")),
        retry: retry(&table),
        hedge: limits::read::hedge(&table),
        reuse: reuse(&table),
        collected_body_bytes_max: None,
        nobody_left: nobody_left(&table.table("when-empty")),
        lenient: lenient(&table),
        offload,
    };
    plan.collected_body_bytes_max = limits::read::collected_body_bytes_max(&table, &plan);
    warn_of_servers(&table, &plan);
    let balance = table.get("balance");
    let key_at = balance.and_then(|node| node.get("key")).or(balance).map(|node| node.span);
    let has_key = balance.is_some_and(|node| node.get("key").is_some());
    let sticky_at = table.get("sticky").map(|node| node.span);
    let zone = spread::read::zone(&table);
    warn_of_spread(&table, &plan, &zone);
    let auto_weight_at = auto_weight::on_at(&table);
    let is_unlimited = limits::read::is_unlimited(&plan);
    if is_unlimited {
        limits::read::warn_of_queue(&table, &plan);
    } else {
        limits::read::warn_of_server_queues(&table, &plan);
    }
    let empty_at = match table.get("servers") {
        None => Some(table.span()).filter(|_| !table.has_unknown_keys()),
        Some(node) => Some(node.span).filter(|_| node.one_or_many().is_empty()),
    };
    Some(PoolSpec {
        name,
        plan,
        key_at,
        has_key,
        sticky_at,
        auto_weight_at,
        zone,
        is_unlimited,
        areas,
        empty_at,
    })
}

fn lenient(table: &Table<'_, '_>) -> Lenient {
    let mut lenient = Lenient::default();
    for node in table.many("lenient") {
        match node.text().unwrap_or_default() {
            "bare-lf" => lenient.bare_lf = true,
            "duplicate-content-length" => lenient.equal_lengths = true,
            "control-characters" => lenient.control_characters = true,
            // The shape check permits no other values.
            _ => {}
        }
    }
    lenient
}

fn warn_of_servers(table: &Table<'_, '_>, plan: &PoolPlan) {
    let warn = |span, message: &str| {
        table.cx.report(Problem::warning(span, format!("{}: {message}", table.subject)))
    };
    match table.get("servers") {
        Some(node)
            if !plan.servers.is_empty()
                && plan.servers.iter().all(|server| server.weight == Weight::ZERO) =>
        {
            warn(node.span, "every server has weight 0 and gets nothing");
        }
        _ => {}
    }
    if let (Some(node), Some(CheckKind::Tls), None) =
        (table.get("check"), plan.check.as_ref().map(|check| &check.kind), &plan.tls)
    {
        warn(node.span, "servers are checked with TLS, but get their requests without it");
    }
}

/// Warns about settings for tiers, zones and subsets that have no effect.
fn warn_of_spread(table: &Table<'_, '_>, plan: &PoolPlan, zone: &spread::read::ZoneSpec) {
    let warn = |span, message: &str| {
        table.cx.report(Problem::warning(span, format!("{}: {message}", table.subject)))
    };
    let has_zones = plan.servers.is_empty() || plan.servers.iter().any(|server| server.zone.is_some());
    if let (Some(node), false, Some(_)) = (table.get("zone"), has_zones, &zone.own) {
        warn(node.span, "no server has a zone: all are elsewhere, and the pool's zone changes nothing");
    }
    if let (Some(node), false) = (table.get("auto-weight"), plan.auto_weight.is_on) {
        warn(node.span, "no server has weight = \"auto\": auto-weight changes nothing");
    }
    auto_weight::warn_of_algorithm(table, plan.algorithm);
    warn_of_portions(table, plan, zone);
    parts::warn_of_few(table, plan);
}

/// Warns about settings that need fractions of weights, if the algorithm does not support them.
fn warn_of_portions(table: &Table<'_, '_>, plan: &PoolPlan, zone: &spread::read::ZoneSpec) {
    let algorithm = plan.algorithm;
    let warn = |key: &str, message: &str| {
        if let Some(node) = table.get(key) {
            let why = match algorithm.weighs_portions() {
                true => "would move most of its keys with every change of a weight",
                false => "goes by whole weights",
            };
            let message = format!("{}: {algorithm} {why}: {message}", table.subject);
            table.cx.report(Problem::warning(node.span, message));
        }
    };
    if !algorithm.weighs_moving_portions() {
        let has_limits =
            plan.servers.is_empty() || plan.servers.iter().any(|server| server.connections_max.is_some());
        if plan.slow_start.is_some() && !has_limits {
            warn("slow-start", "slow-start changes nothing");
        }
        if plan.agent.is_some() {
            warn("agent", "of the percentages that agents answer only 0% counts");
        }
    }
    if !algorithm.weighs_portions() {
        if !zone.is_off && plan.servers.iter().any(|server| server.zone.is_some()) {
            let key = if table.get("zone").is_some() { "zone" } else { "balance" };
            warn(key, "where the own zone does not suffice, servers of other zones get as much as its own");
        }
        if plan.membership.subset.is_some_and(|subset| shares_servers(plan, subset)) {
            warn("subset", "servers that belong to two Weirs get more than others");
        }
    }
}

/// Returns true if this Weir owns only a part of some server. Each tier has its own ring.
fn shares_servers(plan: &PoolPlan, subset: Subset) -> bool {
    let mut tiers: BTreeMap<(bool, u16), usize> = BTreeMap::new();
    for server in &plan.servers {
        *tiers.entry((server.backup, server.priority)).or_insert(0) += 1;
    }
    let in_part = |portion: Option<Portion>| portion.is_some_and(|portion| portion != Portion::WHOLE);
    tiers.into_values().any(|count| subset.portions(count).any(in_part))
}

fn servers(table: &Table<'_, '_>) -> Vec<ServerPlan> {
    let mut servers = Vec::new();
    let mut places: HashMap<ServerName, Span> = HashMap::new();
    for (index, node) in table.many("servers").iter().enumerate() {
        let Some((server, span)) = server(table, index, node) else { continue };
        if let Some(first) = places.insert(server.name.clone(), span) {
            let problem =
                Problem::error(span, format!("{}: two servers are named {}", table.subject, server.name));
            table.cx.report(
                problem.label("again").also(first, "first here").help("give one of them another name"),
            );
        }
        servers.push(server);
    }
    servers
}

/// Reads a server. Also returns the position of its name, or of the address that replaces it.
fn server(table: &Table<'_, '_>, index: usize, node: &Node) -> Option<(ServerPlan, Span)> {
    if !matches!(node.value, Value::Table(_)) {
        let address = table.parse_node::<ServerAddress>("servers", node)?;
        let server = ServerPlan {
            name: name_of(&address.value)?,
            address: address.value,
            weight: Weight::ONE,
            auto_weight: None,
            backup: false,
            priority: 0,
            zone: None,
            agent_port: None,
            connections_max: None,
        };
        return Some((server, node.span));
    }
    let table = Table::new(table.cx, table.subject.entry(&SERVER, index, node), &SERVER, node);
    let address = table.parse::<ServerAddress>("address")?;
    let written = table.text_if("name").and_then(|text| names::name(table.cx, "server", &text));
    let by_address = || Some(Located { value: name_of(&address.value)?, span: address.span });
    let name = written.or_else(by_address)?;
    let (weight, auto_weight) = auto_weight::weight(&table);
    let server = ServerPlan {
        name: name.value,
        weight,
        auto_weight,
        backup: table.flag("backup"),
        priority: table.number("priority"),
        zone: zone::zone_name(&table),
        agent_port: table.number_if("agent-port"),
        connections_max: table.number_if("max-connections"),
        address: address.value,
    };
    Some((server, name.span))
}

/// Returns an address as a name: replaces or removes characters that a name cannot have, and limits the
/// length.
fn name_of(address: &ServerAddress) -> Option<ServerName> {
    let text: String = address
        .to_string()
        .chars()
        .map(|c| if c == '/' { '_' } else { c })
        .filter(|c| !"[]".contains(*c))
        .collect();
    let text: String =
        text.chars().map(|c| if Name::new(&c.to_string()).is_ok() { c } else { '_' }).collect();
    // The end of a long name or path is more specific than its beginning.
    let start = text.len().saturating_sub(Name::BYTES_MAX);
    Name::new(&text[start..]).ok()
}

/// Reads `eject = { ... }`, of a pool or of a scenario's balancer.
pub(crate) fn ejection(table: &Table<'_, '_>) -> EjectionRule {
    let rule = EjectionRule {
        consecutive_failures: table.number("failures"),
        error_percent: table.percent("errors"),
        requests_min: table.number("min-requests"),
        window: table.duration("window"),
        base_time: table.duration("time"),
        time_max: table.duration("max-time"),
        share_max_percent: table.percent("max-share"),
        probes: table.number("half-open-requests"),
    };
    if rule.base_time > rule.time_max {
        let key = if table.get("time").is_some() { "time" } else { "max-time" };
        let span = table.get(key).map_or(table.span(), |node| node.span);
        table.error(key, span, format!("time {} is above max-time {}", rule.base_time, rule.time_max));
    }
    rule
}

fn timeouts(table: &Table<'_, '_>) -> ServerTimeouts {
    ServerTimeouts {
        connect: table.duration("connect"),
        response: table.duration("response"),
        idle: table.duration("idle"),
        queue: table.duration("queue"),
    }
}

fn retry(pool: &Table<'_, '_>) -> RetryPlan {
    let table = pool.table("retry");
    RetryPlan {
        attempts: if pool.is_off("retry") { 0 } else { table.number("attempts") },
        budget_percent: table.percent("budget"),
        budget_min_per_second: table.number("min-per-second"),
        at_once_percent: table.get("at-once").map(|_| table.percent("at-once")),
        at_once_min: table.number("min-at-once"),
    }
}

fn reuse(pool: &Table<'_, '_>) -> ConnectionReuse {
    let table = pool.table("reuse");
    ConnectionReuse {
        idle_max: if pool.is_off("reuse") { 0 } else { table.number("idle") },
        idle_timeout: table.duration("idle-timeout"),
        age_max: table.duration("max-age"),
        requests_max: table.number_if("max-requests"),
    }
}

fn nobody_left(table: &Table<'_, '_>) -> NobodyLeft {
    let retry_after = table.duration("retry-after");
    if let (Some(node), false) = (table.get("retry-after"), retry_after.0.is_multiple_of(1_000)) {
        table.error("retry-after", node.span, "the header has whole seconds");
    }
    NobodyLeft {
        retry_after_s: u32::try_from(retry_after.0 / 1_000).unwrap_or(u32::MAX),
        response: table.table_if("respond").map(|table| header::response(&table)),
    }
}
