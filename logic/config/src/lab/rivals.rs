//! Reads the balancers to compare.

use std::path::PathBuf;

use super::scenario::named;
use super::values::span_of;
use super::{
    BalancerSetup, Case, Demand, FleetPolicy, FleetSetup, Mark, Product, Rival, Scheme, ServerKind, Servers,
    Topology, Way,
};
use crate::pool::balance;
use crate::syntax::source::Span;
use crate::syntax::tree::Value;
use crate::values::table::Table;

/// A requested rival, before it is combined with balancing schemes.
struct Asked {
    name: String,
    product: Product,
    program: Option<PathBuf>,
    way: Way,
    fleet: Option<FleetSetup>,
    scheduler: Option<String>,
    balance: Option<String>,
    /// Position of the request; `None` = no rival is requested by name.
    span: Option<Span>,
}

pub(super) fn rivals(table: &Table<'_, '_>, kind: ServerKind) -> Vec<Rival> {
    let product = |name: &str| named(&Product::ALL, Product::name, name);
    let mut asked = Vec::new();
    for (at, node) in table.many("rivals").iter().enumerate() {
        if let Value::Table(_) = node.value {
            let own = table.nth("rivals", at);
            let Some(product) = product(&own.text("product")) else { continue };
            let name = own.text_if("name").map_or_else(|| product.name().to_owned(), |name| name.value);
            let program = own.text_if("program").map(|text| PathBuf::from(text.value));
            let way = way(&own, product, kind);
            let fleet = fleet(&own, product, kind);
            let (scheduler, balance) = (scheduler(&own, product), balance(&own, product));
            asked.push(Asked {
                name,
                product,
                program,
                way,
                fleet,
                scheduler,
                balance,
                span: Some(node.span),
            });
        } else if let Some(product) = node.text().and_then(product) {
            asked.push(Asked {
                name: product.name().to_owned(),
                product,
                program: None,
                way: Way::Proxied,
                fleet: None,
                scheduler: None,
                balance: None,
                span: Some(node.span),
            });
        }
    }
    match table.get("rivals") {
        None => {
            let usual = [Product::Weir, Product::Haproxy, Product::Nginx];
            asked.extend(usual.map(|product| Asked {
                name: product.name().to_owned(),
                product,
                program: None,
                way: Way::Proxied,
                fleet: None,
                scheduler: None,
                balance: None,
                span: None,
            }));
        }
        Some(node) if node.one_or_many().is_empty() => table.error("rivals", node.span, "there is none"),
        Some(_) => {}
    }
    let schemes = schemes(table);
    let mut rivals: Vec<Rival> = Vec::new();
    for one in asked {
        let has_own = one.scheduler.is_some() || one.balance.is_some();
        let has_one = one.product == Product::None || has_own;
        let schemes = if has_one { &schemes[..schemes.len().min(1)] } else { &schemes[..] };
        for (scheme, span) in schemes {
            if !has_own && !one.product.has(*scheme) {
                let message = format!("{} has no {}", one.product.name(), scheme.name());
                table.error("algorithms", span.or(one.span).unwrap_or(table.span()), message);
            }
            let several = schemes.len() > 1;
            let name = if several { format!("{} {}", one.name, scheme.name()) } else { one.name.clone() };
            if rivals.iter().any(|other| other.name == name) {
                let message = format!("{name} is there twice: give one of them another `name`");
                table.error("rivals", one.span.unwrap_or(table.span()), message);
            }
            rivals.push(Rival {
                name,
                product: one.product,
                program: one.program.clone(),
                scheme: *scheme,
                way: one.way,
                fleet: one.fleet.clone(),
                scheduler: one.scheduler.clone(),
                balance: one.balance.clone(),
                mark: one.span.map(Mark),
            });
        }
    }
    rivals
}

fn way(rival: &Table<'_, '_>, product: Product, kind: ServerKind) -> Way {
    let way = named(&Way::ALL, Way::name, &rival.text("way")).unwrap_or(Way::Proxied);
    if !way.is_of(product) {
        let message = format!("{} has no way {:?}", product.name(), way.name());
        rival.error("way", span_of(rival, "way"), message);
    } else if matches!(way, Way::Offloaded | Way::Redirected) && kind != ServerKind::Storage {
        let message = "only storage areas name files and take tickets: [servers] needs kind = \"storage\"";
        rival.error("way", span_of(rival, "way"), message);
    }
    way
}

fn scheduler(rival: &Table<'_, '_>, product: Product) -> Option<String> {
    let named = rival.text_if("scheduler")?;
    if product != Product::Lvs {
        rival.error("scheduler", span_of(rival, "scheduler"), "only `lvs` has schedulers");
    }
    Some(named.value)
}

/// Reads `balance` of a rival: any value that a pool's `balance` may have.
fn balance(rival: &Table<'_, '_>, product: Product) -> Option<String> {
    let node = rival.get("balance")?;
    if product != Product::Weir {
        rival.error("balance", node.span, "only `weir` has it");
    }
    // Only reports errors; the lab passes the TOML on as it is.
    let _ = balance::read::read(rival);
    node.to_toml()
}

fn fleet(rival: &Table<'_, '_>, product: Product, kind: ServerKind) -> Option<FleetSetup> {
    let node = rival.get("fleet")?;
    let table = rival.table("fleet");
    if product != Product::Weir || kind != ServerKind::Origin {
        rival.error("fleet", node.span, "only `weir` has fleets, and only of servers of kind \"origin\"");
    }
    let setup = FleetSetup {
        min: table.number("min"),
        max: table.number("max"),
        capacity: table.decimal("capacity"),
        policy: match table.text("policy").as_str() {
            "reactive" => FleetPolicy::Reactive,
            _ => FleetPolicy::Target,
        },
        minute: table.duration("minute"),
        boot: table.duration("boot"),
    };
    if setup.min > setup.max {
        table.error("min", span_of(&table, "min"), "is above `max`");
    }
    Some(setup)
}

/// Reports cases that clients cannot follow to another server. Clients follow redirects only for requests
/// that are safe to repeat and have no body.
pub(super) fn check_ways(table: &Table<'_, '_>, rivals: &[Rival], cases: &[Case]) {
    let is_followed = |case: &&Case| {
        let has_calls = matches!(case.demand, Demand::Rate { calls: Some(_), .. });
        case.mix.is_none() && case.method == "GET" && case.body_bytes == 0 && !has_calls
    };
    let is_redirected = rivals.iter().any(|rival| rival.way == Way::Redirected);
    if let (true, Some(case)) = (is_redirected, cases.iter().find(|case| !is_followed(case))) {
        let message =
            format!("{}: only a GET without `calls` is followed to where it is redirected", case.name);
        table.error("test", span_of(table, "test"), message);
    }
}

/// Reports settings of the scenario that some rival does not support.
pub(super) fn check_abilities(
    table: &Table<'_, '_>,
    rivals: &[Rival],
    cases: &[Case],
    (setup, topology): (&BalancerSetup, Topology),
) {
    for rival in rivals {
        let (tls_in, tls_out) = rival.product.speaks_tls();
        let is_kernel = rival.product.is_kernel();
        let has_reloads = cases.iter().any(|case| case.reload_every.is_some());
        for (is_asked, what) in [
            (setup.tls_in && !tls_in, "speaks no TLS with clients"),
            (setup.tls_out && !tls_out, "does not verify servers over TLS"),
            (has_reloads && !rival.product.can_reload(), "does not reload by a signal"),
            (
                is_kernel && !matches!(topology, Topology::Namespaces(_)),
                "works on packets: [topology] needs kind = \"namespaces\"",
            ),
            (is_kernel && setup.pair.is_some(), "makes no pair here"),
        ] {
            if is_asked {
                let span = rival.mark.map_or(table.span(), |mark| mark.0);
                table.error("rivals", span, format!("{} {what}", rival.product.name()));
            }
        }
    }
}

/// Reports unequal servers that some rival cannot be configured for.
pub(super) fn check_unequal(table: &Table<'_, '_>, rivals: &[Rival], servers: &Servers) {
    let own = table.table("servers");
    let most = servers.weights.iter().copied().max();
    for rival in rivals.iter().filter(|rival| rival.product != Product::None) {
        let (name, scheme) = (rival.product.name(), rival.scheme.name());
        let max = rival.product.weight_max(rival.scheme);
        let message = match most {
            _ if rival.fleet.is_some() => continue,
            Some(most) if most <= max => continue,
            None => continue,
            Some(_) if max == 0 => format!("{name} has no weights for {scheme}"),
            Some(_) => format!("{name} has weights up to {max} for {scheme}"),
        };
        own.error("weights", span_of(&own, "weights"), message);
    }
    let is_uneven = [servers.weights.len(), servers.delays.len(), servers.concurrency.len()];
    if rivals.iter().any(|rival| rival.fleet.is_some()) {
        for key in
            ["weights", "delay", "concurrency"].into_iter().zip(is_uneven).filter(|(_, many)| *many > 1)
        {
            own.error(key.0, span_of(&own, key.0), "servers of a fleet are all alike: give one value");
        }
    }
}

fn schemes(table: &Table<'_, '_>) -> Vec<(Scheme, Option<Span>)> {
    let mut schemes = Vec::new();
    for node in table.many("algorithms") {
        let Some(scheme) = node.text().and_then(|name| named(&Scheme::ALL, Scheme::name, name)) else {
            continue;
        };
        if schemes.iter().any(|(other, _)| *other == scheme) {
            table.error("algorithms", node.span, format!("{} is there twice", scheme.name()));
        } else {
            schemes.push((scheme, Some(node.span)));
        }
    }
    match table.get("algorithms") {
        None => schemes.push((Scheme::LeastConnections, None)),
        Some(node) if node.one_or_many().is_empty() => table.error("algorithms", node.span, "there is none"),
        Some(_) => {}
    }
    schemes
}
