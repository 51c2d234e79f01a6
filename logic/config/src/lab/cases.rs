//! Expands the tests of a scenario: a test with lists gives a case for each combination of their values.

use weir_model::Millis;

use super::keys::TEST;
use super::values::{sizes, span_of};
use super::{Case, Demand, Loss};
use crate::syntax::tree::Node;
use crate::values::subject::Subject;
use crate::values::table::Table;

/// Changes that the quick form makes to a scenario.
pub(super) struct Quick {
    pub(super) repeats: u32,
    pub(super) warm_up: Millis,
    pub(super) margin: f64,
    tests: Vec<String>,
    changes: Changes,
}

/// Values that replace those of a test; empty or `None` = no change.
#[derive(Default)]
struct Changes {
    requests: Option<u64>,
    duration: Option<Millis>,
    rates: Vec<f64>,
    phases: Vec<(f64, Millis)>,
    connections: Vec<u32>,
    sizes: Vec<u64>,
}

impl Quick {
    pub(super) fn read(table: &Table<'_, '_>) -> Self {
        Self {
            repeats: table.number("repeats"),
            warm_up: table.duration("warm-up"),
            margin: table.decimal("margin"),
            tests: table.many("tests").iter().filter_map(Node::text).map(str::to_owned).collect(),
            changes: Changes {
                requests: table.number_if("requests"),
                duration: table.duration_if("duration"),
                rates: decimals(table, "rate"),
                phases: phases(table),
                connections: numbers(table, "connections"),
                sizes: sizes(table, "size"),
            },
        }
    }
}

/// Reads all cases. With a quick form, also returns the cases of the full form.
pub(super) fn read(root: &Table<'_, '_>, servers: u32, quick: Option<&Quick>) -> (Vec<Case>, Vec<Case>) {
    let unchanged = Changes::default();
    let (mut cases, mut of_full): (Vec<Case>, Vec<Case>) = (Vec::new(), Vec::new());
    let mut tests = Vec::new();
    for (at, node) in root.many("test").iter().enumerate() {
        let table = Table::new(root.cx, Subject::default().entry(&TEST, at, node), &TEST, node);
        let name = table.text_if("name").map_or_else(|| (at + 1).to_string(), |name| name.value);
        if tests.contains(&name) {
            table.error("name", span_of(&table, "name"), format!("{name} is there twice"));
        }
        let full = of_test(&table, &name, servers, &unchanged);
        match quick {
            None => cases.extend(full),
            Some(quick) => {
                of_full.extend(full);
                if quick.tests.is_empty() || quick.tests.contains(&name) {
                    cases.extend(of_test(&table, &name, servers, &quick.changes));
                }
            }
        }
        tests.push(name);
    }
    let options = root.table("quick");
    for node in options.many("tests") {
        if let Some(name) = node.text().filter(|name| !tests.iter().any(|test| test == name)) {
            options.error("tests", node.span, format!("there is no test {name:?}"));
        }
    }
    if root.get("test").is_some_and(|node| node.one_or_many().is_empty()) {
        root.error("test", span_of(root, "test"), "there is none");
    }
    (cases, of_full)
}

fn of_test(table: &Table<'_, '_>, name: &str, servers: u32, changes: &Changes) -> Vec<Case> {
    let own_or = |own: Vec<f64>, changed: &[f64]| {
        if own.is_empty() || changed.is_empty() { own } else { changed.to_vec() }
    };
    let rates = own_or(decimals(table, "rate"), &changes.rates);
    let connections = numbers(table, "connections");
    let connections = if connections.is_empty() || changes.connections.is_empty() {
        connections
    } else {
        changes.connections.clone()
    };
    let own_sizes = sizes(table, "size");
    let own_sizes =
        if own_sizes.is_empty() || changes.sizes.is_empty() { own_sizes } else { changes.sizes.clone() };
    let counts = numbers(table, "servers");
    let counts = if counts.is_empty() { vec![servers] } else { counts };
    let phases = of_phases(table, &changes.phases);
    let is_open = table.get("rate").is_some() || !phases.is_empty();
    let is_closed = table.get("connections").is_some();
    match (is_open, is_closed) {
        (true, true) => {
            table.error(
                "connections",
                span_of(table, "connections"),
                "there is a rate, by which requests come",
            );
        }
        (false, false) if table.has_unknown_keys() => {}
        (false, false) => {
            table.error("rate", table.span(), "say when requests start: `rate = 100` or `connections = 10`")
        }
        _ => {}
    }
    for key in ["calls", "poisson"] {
        if let (false, Some(node)) = (is_open, table.get(key)) {
            table.error(key, node.span, "only a test with a rate has it");
        }
    }
    let demands: Vec<(String, Demand)> = if is_open {
        let (poisson, calls) = (table.flag("poisson"), table.number_if("calls"));
        let highest = phases.iter().map(|(per_s, _)| *per_s).reduce(f64::max);
        let rates = highest.map_or(rates, |highest| vec![highest]);
        let demand = |per_s: &f64| (format!("{per_s}/s"), Demand::Rate { per_s: *per_s, poisson, calls });
        rates.iter().map(demand).collect()
    } else {
        connections
            .iter()
            .map(|count| (format!("{count} connections"), Demand::Connections(*count)))
            .collect()
    };
    let asked: Vec<(String, Option<u64>)> = match own_sizes.is_empty() {
        true => vec![(String::new(), None)],
        false => own_sizes.iter().map(|bytes| (size_name(*bytes), Some(*bytes))).collect(),
    };
    let path = path(table, &own_sizes);
    let requests = table.number_if::<u64>("requests").map(|own| changes.requests.unwrap_or(own));
    let headers = table.get("headers").map_or(&[][..], Node::entries).iter();
    let headers: Vec<(String, String)> =
        headers.filter_map(|(name, value)| Some((name.value.clone(), value.text()?.to_owned()))).collect();
    let mix = mix(table);
    let mut cases = Vec::new();
    for count in &counts {
        for (size_name, size) in &asked {
            for (demand_name, demand) in &demands {
                let mut full = name.to_owned();
                for (several, part) in [
                    (counts.len() > 1, &format!("{count} servers")),
                    (asked.len() > 1, size_name),
                    (demands.len() > 1, demand_name),
                ] {
                    if several {
                        full = format!("{full}, {part}");
                    }
                }
                let sized = size.map_or_else(String::new, |size| size.to_string());
                cases.push(Case {
                    name: full,
                    servers: *count,
                    demand: *demand,
                    phases: phases.clone(),
                    requests,
                    duration: changes.duration.unwrap_or_else(|| table.duration("duration")),
                    method: table.text("method"),
                    mix: mix.clone(),
                    path: path.replace("SIZE", &sized),
                    size: *size,
                    body_bytes: table.size("body").0,
                    headers: headers.clone(),
                    keep_alive: table.flag("keep-alive"),
                    timeout: table.duration("timeout"),
                    check_balance: table.flag("check-balance"),
                    kill_for: table.duration_if("kill-for"),
                    lose: table.text_if("lose").map(|text| match text.value.as_str() {
                        "program" => Loss::Program,
                        _ => Loss::Machine,
                    }),
                    reload_every: table.duration_if("reload-every"),
                    idle: table.number("idle"),
                });
            }
        }
    }
    cases
}

/// Returns the phases of a test, or the ones that replace them.
fn of_phases(table: &Table<'_, '_>, changed: &[(f64, Millis)]) -> Vec<(f64, Millis)> {
    let own = phases(table);
    for (key, message) in [
        ("rate", "there are phases, which say how many requests come"),
        ("requests", "there are phases, which say how long it takes"),
        ("duration", "there are phases, which say how long it takes"),
    ] {
        if let (false, Some(node)) = (own.is_empty(), table.get(key)) {
            table.error(key, node.span, message);
        }
    }
    if own.is_empty() || changed.is_empty() { own } else { changed.to_vec() }
}

/// Reads the phases of a test or of a quick form.
fn phases(table: &Table<'_, '_>) -> Vec<(f64, Millis)> {
    let all = (0..table.many("phases").len()).map(|at| table.nth("phases", at));
    let phases: Vec<(f64, Millis)> =
        all.map(|phase| (phase.decimal("rate"), phase.duration("for"))).collect();
    let requests = phases.iter().map(|(per_s, lasts)| per_s * lasts.duration().as_secs_f64()).sum::<f64>();
    if let (true, Some(node)) = (requests < 1.0, table.get("phases")) {
        table.error("phases", node.span, "not one request comes in them");
    }
    phases
}

fn path(table: &Table<'_, '_>, sizes: &[u64]) -> String {
    match table.text_if("path") {
        Some(path) if !path.value.starts_with('/') => {
            table.error("path", path.span, "a path begins with /");
            path.value
        }
        Some(path) if path.value.bytes().any(|byte| byte <= b' ' || byte == 0x7f) => {
            table.error("path", path.span, "a path has no blanks or control characters");
            path.value
        }
        Some(path) => path.value,
        None if sizes.is_empty() => {
            table.error("path", table.span(), "say what is asked for: `size = \"1KiB\"` or `path = \"/\"`");
            "/".to_owned()
        }
        None => "/bytes/SIZE".to_owned(),
    }
}

/// Reads a mix of methods, such as `GET=70,PUT=30`.
fn mix(table: &Table<'_, '_>) -> Option<String> {
    let mix = table.text_if("mix")?;
    let is_method = |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_uppercase());
    let is_part = |part: &str| {
        let (method, weight) = part.trim().split_once('=').unwrap_or_default();
        is_method(method) && weight.parse::<f64>().is_ok_and(|weight| weight > 0.0 && weight.is_finite())
    };
    if !mix.value.split(',').all(is_part) {
        table.error("mix", mix.span, "write METHOD=WEIGHT, with a comma between: \"GET=70,PUT=30\"");
    }
    if let Some(node) = table.get("method") {
        table.error("method", node.span, "there is a mix, which says which methods");
    }
    Some(mix.value)
}

fn size_name(bytes: u64) -> String {
    for (unit, factor) in [("MB", 1_000_000), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)] {
        if bytes > 0 && bytes.is_multiple_of(factor) {
            return format!("{} {unit}", bytes / factor);
        }
    }
    format!("{bytes} B")
}

fn numbers(table: &Table<'_, '_>, key: &str) -> Vec<u32> {
    let number = |node: &Node| node.integer().and_then(|number| u32::try_from(number).ok());
    table.many(key).iter().filter_map(number).collect()
}

fn decimals(table: &Table<'_, '_>, key: &str) -> Vec<f64> {
    table.many(key).iter().filter_map(Node::decimal).collect()
}
