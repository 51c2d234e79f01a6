//! Describes the load of each case.

use weir_config::lab::{Case, Demand, Loss, Scenario, ServerKind, Topology};

use super::document::Table;

/// Returns a table with one row per case.
pub(super) fn cases(scenario: &Scenario) -> Table {
    let head =
        ["case", "asks for", "servers", "concurrency", "requests", "connections", "links", "what happens"];
    let mut rows: Vec<Vec<String>> = scenario.cases.iter().map(|case| row(scenario, case)).collect();
    let mut head = head.map(str::to_owned).to_vec();
    // Most scenarios have no trouble, so this column would be empty.
    if rows.iter().all(|row| row.last().is_some_and(String::is_empty)) {
        head.pop();
        rows.iter_mut().for_each(|row| drop(row.pop()));
    }
    Table { head, rows }
}

fn row(scenario: &Scenario, case: &Case) -> Vec<String> {
    vec![
        case.name.clone(),
        what(case),
        format!("{} {}", case.servers, kind(scenario.servers.kind)),
        concurrency(case),
        requests(case),
        connections(scenario, case),
        links(&scenario.topology),
        trouble(case),
    ]
}

fn what(case: &Case) -> String {
    let method = case.mix.as_deref().unwrap_or(&case.method);
    let body = match (case.size, case.body_bytes) {
        (_, sent) if sent > 0 => format!(", {} sent", size(sent)),
        (Some(bytes), _) => format!(", {}", size(bytes)),
        (None, _) => String::new(),
    };
    format!("{method} {}{body}", case.path)
}

fn kind(kind: ServerKind) -> &'static str {
    match kind {
        ServerKind::Origin => "test servers",
        ServerKind::Storage => "storage areas",
        ServerKind::Nginx => "NGINX",
        ServerKind::Apache => "Apache",
        ServerKind::Command => "of a command",
    }
}

fn concurrency(case: &Case) -> String {
    match case.demand {
        Demand::Connections(1) => "1 connection, closed loop".to_owned(),
        Demand::Connections(count) => format!("{count} connections, closed loop"),
        _ if !case.phases.is_empty() => {
            let phases = case.phases.iter().map(|(per_s, lasts)| format!("{per_s}/s for {lasts}"));
            phases.collect::<Vec<_>>().join(", then ")
        }
        Demand::Rate { per_s, poisson, calls } => {
            let how = if poisson { " at random" } else { "" };
            match calls {
                Some(calls) => format!("{per_s} connections a second{how}, {calls} requests on each"),
                None => format!("{per_s} requests a second{how}"),
            }
        }
    }
}

fn requests(case: &Case) -> String {
    match (case.requests, case.demand) {
        (Some(count), _) => count.to_string(),
        (None, _) if !case.phases.is_empty() => "as the phases have".to_owned(),
        (None, Demand::Rate { .. } | Demand::Connections(_)) => format!("for {}", case.duration),
    }
}

fn connections(scenario: &Scenario, case: &Case) -> String {
    let mut said = vec![if case.keep_alive { "kept" } else { "one for each request" }.to_owned()];
    match (scenario.balancer.tls_in, scenario.balancer.tls_out) {
        (true, true) => said.push("TLS to balancer and servers".to_owned()),
        (true, false) => said.push("TLS to the balancer".to_owned()),
        (false, true) => said.push("TLS to servers".to_owned()),
        (false, false) => {}
    }
    if case.idle > 0 {
        said.push(format!("{} idle ones beside", case.idle));
    }
    said.join(", ")
}

fn links(topology: &Topology) -> String {
    match topology {
        Topology::Loopback => "loopback".to_owned(),
        Topology::Hosts => "the machines' own".to_owned(),
        Topology::Namespaces(links) => {
            let rate = |name: &str, rate: Option<f64>| rate.map(|rate| format!("{name} {rate}"));
            let all = [
                rate("client", links.client),
                rate("balancer", links.balancer),
                rate("servers", links.server),
            ];
            let all: Vec<String> = all.into_iter().flatten().collect();
            if all.is_empty() { "unlimited".to_owned() } else { format!("{} Mbit/s", all.join(", ")) }
        }
    }
}

fn trouble(case: &Case) -> String {
    let mut said = Vec::new();
    if let Some(lasts) = case.kill_for {
        said.push(format!("a server is killed for {lasts}"));
    }
    match case.lose {
        Some(Loss::Machine) => said.push("the active balancer's machine is lost".to_owned()),
        Some(Loss::Program) => said.push("the active balancer is killed".to_owned()),
        None => {}
    }
    if let Some(every) = case.reload_every {
        said.push(format!("the balancer is reloaded every {every}"));
    }
    said.join(", ")
}

/// Formats bytes in the largest unit that gives a whole number.
fn size(bytes: u64) -> String {
    const UNITS: [(u64, &str); 6] = [
        (1 << 30, "GiB"),
        (1_000_000_000, "GB"),
        (1 << 20, "MiB"),
        (1_000_000, "MB"),
        (1 << 10, "KiB"),
        (1_000, "kB"),
    ];
    let unit = UNITS.into_iter().find(|(unit, _)| bytes > 0 && bytes.is_multiple_of(*unit));
    unit.map_or_else(|| format!("{bytes} B"), |(unit, name)| format!("{} {name}", bytes / unit))
}
