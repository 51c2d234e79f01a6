use std::collections::HashMap;

use weir_balance::{Algorithm, ConcurrencyAlgorithm, ConcurrencyRule};
use weir_health::{BreakerRule, EjectionRule};
use weir_model::{Name, PoolName, ServerAddress, ServerName, Weight};

use super::header::check_name;
use super::tls;
use crate::context::Context;
use crate::diagnostic::Problem;
use crate::keys::{POOL, SERVER};
use crate::plan::{
    CheckKind, ConnectionReuse, Fairness, HedgePlan, NobodyLeft, PoolPlan, ProxyProtocolOut, QueuePlan,
    RetryPlan, ServerPlan, ServerTimeouts,
};
use crate::source::{Located, Span};
use crate::subject::Subject;
use crate::table::Table;
use crate::tree::{Node, Value};

/// `[pool.NAME]`. Nothing in a pool refers to anything outside of it.
#[derive(Debug)]
pub(crate) struct PoolSpec {
    pub(crate) name: Located<PoolName>,
    pub(crate) plan: PoolPlan,
}

pub(super) fn read(cx: &Context<'_>, name: &Located<String>, node: &Node) -> Option<PoolSpec> {
    let table = Table::new(cx, Subject::default().named("pool", &name.value), &POOL, node);
    let tls = (!table.is_off("tls")).then(|| tls::outbound(&table.table("tls")));
    if let (Some(node), Some(false)) = (table.table("tls").get("verify"), tls.as_ref().map(|tls| tls.verify))
    {
        let message = format!("{}: servers are not verified", table.subject.key("tls"));
        cx.report(
            Problem::warning(node.span, message).help("name their authority with ca = \"file\" instead"),
        );
    }
    let name = super::route::name(cx, "pool", name)?;
    let plan = PoolPlan {
        name: name.value.clone(),
        algorithm: table.text("balance").parse::<Algorithm>().unwrap_or_default(),
        servers: servers(&table),
        connections_max: table.number_if("max-connections"),
        queue: queue(&table.table("queue")),
        concurrency: (!table.is_off("concurrency")).then(|| concurrency(&table.table("concurrency"))),
        check: super::check::read(&table),
        ejection: (!table.is_off("eject")).then(|| ejection(&table.table("eject"))),
        breaker: (!table.is_off("breaker")).then(|| breaker(&table.table("breaker"))),
        tls,
        proxy_protocol: match table.text_if("proxy-protocol") {
            Some(version) if version.value == "v1" => Some(ProxyProtocolOut::V1),
            Some(_) => Some(ProxyProtocolOut::V2),
            None => None,
        },
        timeouts: timeouts(&table.table("timeouts")),
        retry: retry(&table),
        hedge: (!table.is_off("hedge"))
            .then(|| HedgePlan { delay: table.table("hedge").duration_if("delay") }),
        reuse: reuse(&table),
        nobody_left: nobody_left(&table.table("when-empty")),
    };
    warn_of_servers(&table, &plan);
    Some(PoolSpec { name, plan })
}

fn warn_of_servers(table: &Table<'_, '_>, plan: &PoolPlan) {
    let warn = |span, message: &str| {
        table.cx.report(Problem::warning(span, format!("{}: {message}", table.subject)))
    };
    match table.get("servers") {
        None if table.has_unknown_keys() => {}
        None => {
            warn(table.span(), "no servers: requests are answered as if all were down until one is added")
        }
        Some(node) if node.one_or_many().is_empty() => {
            warn(node.span, "no servers: requests are answered as if all were down until one is added");
        }
        Some(node)
            if !plan.servers.is_empty()
                && plan.servers.iter().all(|server| server.weight == Weight::ZERO) =>
        {
            warn(node.span, "every server has weight 0 and gets nothing");
        }
        Some(_) => {}
    }
    if let (Some(node), Some(CheckKind::Tls), None) =
        (table.get("check"), plan.check.as_ref().map(|check| &check.kind), &plan.tls)
    {
        warn(node.span, "servers are checked with TLS, but get their requests without it");
    }
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

/// A server, and where its name (or the address that serves as its name) stands.
fn server(table: &Table<'_, '_>, index: usize, node: &Node) -> Option<(ServerPlan, Span)> {
    if !matches!(node.value, Value::Table(_)) {
        let address = table.parse_node::<ServerAddress>("servers", node)?;
        let server = ServerPlan {
            name: name_of(&address.value)?,
            address: address.value,
            weight: Weight::ONE,
            backup: false,
            connections_max: None,
        };
        return Some((server, node.span));
    }
    let table = Table::new(table.cx, table.subject.entry(&SERVER, index, node), &SERVER, node);
    let address = table.parse::<ServerAddress>("address")?;
    let written = table.text_if("name").and_then(|text| super::route::name(table.cx, "server", &text));
    let by_address = || Some(Located { value: name_of(&address.value)?, span: address.span });
    let name = written.or_else(by_address)?;
    let server = ServerPlan {
        name: name.value,
        weight: Weight::new(table.number("weight")).unwrap_or_default(),
        backup: table.flag("backup"),
        connections_max: table.number_if("max-connections"),
        address: address.value,
    };
    Some((server, name.span))
}

/// An address as a name: without the characters that a name cannot have, and no longer than one.
fn name_of(address: &ServerAddress) -> Option<ServerName> {
    let text: String = address
        .to_string()
        .chars()
        .map(|c| if c == '/' { '_' } else { c })
        .filter(|c| !"[]".contains(*c))
        .collect();
    let text: String =
        text.chars().map(|c| if Name::new(&c.to_string()).is_ok() { c } else { '_' }).collect();
    // The end of a long name or path says more than its beginning.
    let start = text.len().saturating_sub(Name::BYTES_MAX);
    Name::new(&text[start..]).ok()
}

fn ejection(table: &Table<'_, '_>) -> EjectionRule {
    let rule = EjectionRule {
        consecutive_failures: table.number("failures"),
        error_percent: table.percent("errors"),
        requests_min: table.number("min-requests"),
        window: table.duration("window"),
        base_time: table.duration("time"),
        time_max: table.duration("max-time"),
        share_max_percent: table.percent("max-share"),
    };
    if rule.base_time > rule.time_max {
        let key = if table.get("time").is_some() { "time" } else { "max-time" };
        let span = table.get(key).map_or(table.span(), |node| node.span);
        table.error(key, span, format!("time {} is above max-time {}", rule.base_time, rule.time_max));
    }
    rule
}

fn breaker(table: &Table<'_, '_>) -> BreakerRule {
    BreakerRule {
        error_percent: table.percent("errors"),
        requests_min: table.number("min-requests"),
        window: table.duration("window"),
        open: table.duration("open"),
        probes: table.number("half-open-requests"),
    }
}

fn concurrency(table: &Table<'_, '_>) -> ConcurrencyRule {
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
    ConcurrencyRule { algorithm, min, max }
}

fn timeouts(table: &Table<'_, '_>) -> ServerTimeouts {
    ServerTimeouts {
        connect: table.duration("connect"),
        response: table.duration("response"),
        idle: table.duration("idle"),
        queue: table.duration("queue"),
    }
}

fn queue(table: &Table<'_, '_>) -> QueuePlan {
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

fn retry(pool: &Table<'_, '_>) -> RetryPlan {
    let table = pool.table("retry");
    RetryPlan {
        attempts: if pool.is_off("retry") { 0 } else { table.number("attempts") },
        budget_percent: table.percent("budget"),
        budget_min_per_second: table.number("min-per-second"),
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
        response: table.table_if("respond").map(|table| super::header::response(&table)),
    }
}
