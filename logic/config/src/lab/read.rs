//! Reads a scenario from a tree whose shape has been checked. Reports values that do not fit together.

use std::path::PathBuf;

use weir_model::Millis;

use super::cases::Quick;
use super::keys::{PUBLISHED, SCENARIO};
use super::rivals::{check_abilities, check_unequal, check_ways, rivals};
use super::scenario::named;
use super::values::span_of;
use super::{
    BalancerSetup, Case, Mark, Measure, PairSetup, Published, Scenario, ServerKind, Servers, Topology,
    Watched, cases, topology,
};
use crate::syntax::context::Context;
use crate::syntax::tree::Node;
use crate::values::scalar;
use crate::values::subject::Subject;
use crate::values::table::Table;

/// Maximum number of runs; a higher number is probably a typing error.
const RUNS_MAX: usize = 100_000;

pub(super) fn scenario(cx: &Context<'_>, root: &Node, quick: bool) -> Scenario {
    let table = Table::new(cx, Subject::default(), &SCENARIO, root);
    let quickly = Quick::read(&table.table("quick"));
    let servers = servers(&table);
    let balancer = balancer(&table.table("balancer"));
    if balancer.tls_out && matches!(servers.kind, ServerKind::Origin | ServerKind::Command) {
        let message =
            "servers of this kind speak no TLS: [servers] needs kind = \"storage\", \"nginx\" or \"apache\"";
        let setup = table.table("balancer");
        setup.error("tls-out", span_of(&setup, "tls-out"), message);
    }
    let (topology, topology_mark) = topology::read(&table);
    let pair = table.table("balancer").get("pair");
    if let Some(pair) = pair.filter(|_| !matches!(topology, Topology::Namespaces(_))) {
        let message = "a pair has a network for each of the two: [topology] needs kind = \"namespaces\"";
        table.table("balancer").error("pair", pair.span, message);
    }
    let rivals = rivals(&table, servers.kind);
    let count = table.table("servers").number("count");
    let (cases, of_full) = cases::read(&table, count, quick.then_some(&quickly));
    check_ways(&table, &rivals, &cases);
    check_abilities(&table, &rivals, &cases, (&balancer, topology));
    check_unequal(&table, &rivals, &servers);
    topology::check_rivals(&table, &rivals, topology);
    check_cases(&table, &cases, &servers, balancer.pair.is_some());
    let repeats = if quick { quickly.repeats } else { table.number("repeats") };
    let runs = cases.len().saturating_mul(rivals.len()).saturating_mul(repeats as usize);
    if runs > RUNS_MAX {
        let message = format!("{runs} runs in all; at most {RUNS_MAX}");
        table.error("repeats", span_of(&table, "repeats"), message);
    }
    Scenario {
        title: table.text("title"),
        repeats,
        seed: table.number("seed"),
        warm_up: if quick { quickly.warm_up } else { table.duration("warm-up") },
        pause: table.duration("pause"),
        watch_every: table.duration("watch"),
        monitors: table.many("monitors").iter().filter_map(|node| Watched::of(node.text()?)).collect(),
        judge: judge(&table),
        margin: if quick { quickly.margin } else { table.decimal("margin") },
        topology,
        topology_mark,
        hosts: topology::hosts(&table, topology),
        servers,
        balancer,
        rivals,
        published: published(&table, &cases, &of_full),
        cases,
    }
}

fn judge(table: &Table<'_, '_>) -> Vec<Measure> {
    let named = |node: &Node| node.text().and_then(|name| named(&Measure::ALL, Measure::name, name));
    match table.get("judge") {
        None => vec![Measure::Mean, Measure::Cpu],
        Some(node) if node.one_or_many().is_empty() => {
            table.error("judge", node.span, "there is none");
            Vec::new()
        }
        Some(node) => node.one_or_many().iter().filter_map(named).collect(),
    }
}

fn servers(root: &Table<'_, '_>) -> Servers {
    let table = &root.table("servers");
    let mark = root.get("servers").map(|node| Mark(node.span));
    let kind = match table.text("kind").as_str() {
        "storage" => ServerKind::Storage,
        "nginx" => ServerKind::Nginx,
        "apache" => ServerKind::Apache,
        "command" => ServerKind::Command,
        _ => ServerKind::Origin,
    };
    let delay = |node: &Node| scalar::duration(node.text()?, 0, i64::MAX as u64).ok();
    let delays: Vec<Millis> = table.many("delay").iter().filter_map(delay).collect();
    let is_slow = delays.iter().any(|delay| *delay > Millis(0));
    // All-zero delays are the same as none.
    let delays = if is_slow { delays } else { Vec::new() };
    if is_slow && kind != ServerKind::Origin {
        table.error("delay", span_of(table, "delay"), "only kind = \"origin\" can wait");
    }
    let concurrency = numbers(table, "concurrency");
    if let (false, Some(node)) = (is_slow, table.get("concurrency")) {
        table.error("concurrency", node.span, "without a `delay` a request takes no time, and none waits");
    }
    let program = table.text_if("program").map(|text| PathBuf::from(text.value));
    let has_program = matches!(kind, ServerKind::Nginx | ServerKind::Apache | ServerKind::Command);
    if kind == ServerKind::Command && program.is_none() {
        table.error("program", table.span(), "kind = \"command\" needs one, such as \"/usr/bin/python3\"");
    }
    if let (false, Some(node)) = (has_program, table.get("program")) {
        table.error("program", node.span, "this kind of server is Weir's own");
    }
    let arguments = table.many("arguments").iter().filter_map(Node::text).map(str::to_owned).collect();
    if let (true, Some(node)) = (kind != ServerKind::Command, table.get("arguments")) {
        table.error("arguments", node.span, "only kind = \"command\" has them");
    }
    for key in ["weights", "delay", "concurrency"] {
        if let Some(node) = table.get(key).filter(|node| node.one_or_many().is_empty()) {
            table.error(key, node.span, "there is none");
        }
    }
    Servers { kind, weights: numbers(table, "weights"), delays, concurrency, program, arguments, mark }
}

fn numbers(table: &Table<'_, '_>, key: &str) -> Vec<u32> {
    let number = |node: &Node| node.integer().and_then(|number| u32::try_from(number).ok());
    table.many(key).iter().filter_map(number).collect()
}

fn balancer(table: &Table<'_, '_>) -> BalancerSetup {
    let check = table.text("check");
    if !check.is_empty() && !check.starts_with('/') {
        table.error("check", span_of(table, "check"), "a path begins with /");
    }
    BalancerSetup {
        workers: table.number("workers"),
        port: table.number("port"),
        port_mark: table.get("port").map(|node| Mark(node.span)),
        tls_in: table.flag("tls-in"),
        tls_out: table.flag("tls-out"),
        check,
        pair: table.get("pair").map(|node| {
            let own = table.table("pair");
            PairSetup {
                interval: own.duration("interval"),
                program: own.text_if("program").map(|text| PathBuf::from(text.value)),
                mark: Some(Mark(node.span)),
            }
        }),
    }
}

/// Reports cases that need something that the servers do not have.
fn check_cases(table: &Table<'_, '_>, cases: &[Case], servers: &Servers, is_pair: bool) {
    if !is_pair && cases.iter().any(|case| case.lose.is_some()) {
        let message = "`lose` takes away the active one of a pair: [balancer] needs `pair`";
        table.error("test", span_of(table, "test"), message);
    }
    let file_server = match servers.kind {
        ServerKind::Nginx => Some("nginx"),
        ServerKind::Apache => Some("apache"),
        ServerKind::Origin | ServerKind::Storage | ServerKind::Command => None,
    };
    if let Some(node) = table.get("balancer").filter(|_| cases.iter().any(|case| case.idle > 0))
        && table.table("balancer").flag("tls-in")
    {
        table.error(
            "balancer",
            node.span,
            "idle connections speak no TLS: `idle` and `tls-in` do not go together",
        );
    }
    let is_read = |case: &&Case| case.mix.is_none() && ["GET", "HEAD"].contains(&case.method.as_str());
    if let Some(kind) = file_server
        && let Some(case) = cases.iter().find(|case| !is_read(case))
    {
        let message = format!(
            "servers of kind \"{kind}\" answer GET and HEAD, and not {}",
            case.mix.as_ref().unwrap_or(&case.method)
        );
        table.error("test", span_of(table, "test"), message);
    }
}

/// Reads the published figures. If the quick form changes the load of a case, its figures are labeled as
/// those of the full form.
fn published(table: &Table<'_, '_>, cases: &[Case], of_full: &[Case]) -> Vec<Published> {
    let is_other = |name: &str| match (find(cases, name), find(of_full, name)) {
        (Some(own), Some(full)) => {
            (own.demand, own.size, &own.phases) != (full.demand, full.size, &full.phases)
        }
        _ => false,
    };
    let published = table.many("published").iter().enumerate();
    published
        .filter_map(|(at, node)| {
            let own = Table::new(table.cx, Subject::default().entry(&PUBLISHED, at, node), &PUBLISHED, node);
            let case = own.text("test");
            if find(cases, &case).is_none() && find(of_full, &case).is_none() && !case.is_empty() {
                own.error("test", span_of(&own, "test"), format!("there is no case {case:?}"));
            }
            let measure = named(&Measure::ALL, Measure::name, &own.text("measure"))?;
            let values = own.get("values").map_or(&[][..], Node::entries).iter();
            let of = if is_other(&case) { ", of the full form" } else { "" };
            let values =
                values.filter_map(|(name, value)| Some((format!("{}{of}", name.value), value.decimal()?)));
            let values = values.collect();
            Some(Published { case, measure, is_percent: own.flag("percent"), values })
        })
        .collect()
}

fn find<'c>(cases: &'c [Case], name: &str) -> Option<&'c Case> {
    cases.iter().find(|case| case.name == name)
}
