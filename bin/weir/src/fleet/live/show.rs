//! Human-readable output of fleets.

use std::fmt::Write;

use serde::Serialize;
use weir_control::{FleetSnapshot, Tone, human};
use weir_scale::history::Row;

use crate::ctl::table::{Align, Cell, Style, Table, printable, printable_lines};

/// Renders a table with one line for each fleet.
pub(crate) fn status(fleets: &[FleetSnapshot], style: Style) -> String {
    const COLUMNS: [(&str, Align); 11] = [
        ("FLEET", Align::Left),
        ("POOL", Align::Left),
        ("STATE", Align::Left),
        ("WANTED", Align::Right),
        ("ACTIVE", Align::Right),
        ("COMING", Align::Right),
        ("DRAINING", Align::Right),
        ("STOPPED", Align::Right),
        ("BOUNDS", Align::Right),
        ("DEMAND", Align::Right),
        ("WHY", Align::Left),
    ];
    if fleets.is_empty() {
        return "there is no fleet\n".to_owned();
    }
    let mut table = Table::new(&COLUMNS);
    for fleet in fleets {
        let demand = fleet.demand.map_or_else(|| "-".to_owned(), |demand| format!("{demand:.2}"));
        table.row(vec![
            fleet.name.as_str().into(),
            fleet.pool.as_str().into(),
            state(fleet),
            fleet.wanted.to_string().into(),
            fleet.active.to_string().into(),
            fleet.coming.to_string().into(),
            fleet.draining.to_string().into(),
            fleet.stopped.to_string().into(),
            format!("{}-{}", fleet.min, fleet.max).into(),
            demand.into(),
            fleet.reason.as_str().into(),
        ]);
    }
    let mut text = table.render("", style);
    if let [fleet] = fleets {
        text.push('\n');
        text.push_str(&servers(fleet, style));
    }
    for fleet in fleets {
        for trouble in fleet.alarms.iter().chain(&fleet.troubles) {
            let _ = writeln!(text, "{}: {}", fleet.name, style.paint(&printable_lines(trouble), Tone::Bad));
        }
    }
    text
}

/// Renders the reasons for the number of servers of a fleet.
pub(super) fn explain(fleet: &FleetSnapshot, style: Style) -> String {
    let FleetSnapshot { name, active, wanted, min, max, .. } = fleet;
    // Writing into a string cannot fail, here and below.
    let mut text =
        format!("{name}: {active} take requests, {wanted} are wanted, {min} to {max} are permitted\n");
    if fleet.needed != *wanted {
        let _ = writeln!(text, "{} would be wanted without bounds and pauses", fleet.needed);
    }
    if !fleet.leads {
        let _ = writeln!(text, "this process does not act for it");
    }
    let _ = writeln!(text, "why: {}", printable(&fleet.reason));
    for part in &fleet.policies {
        let _ = writeln!(text, "  {} wants {}: {}", part.policy, part.wanted, printable(&part.reason));
    }
    match fleet.demand {
        Some(demand) => drop(writeln!(text, "demand: work for {demand:.2} servers")),
        None => text.push_str("demand: nothing is measured\n"),
    }
    for capacity in &fleet.capacity {
        let _ = writeln!(text, "a server does {}", printable(capacity));
    }
    let (new, woken) = (human::span(fleet.start_up_ms), human::span(fleet.wake_up_ms));
    let _ =
        writeln!(text, "on their way: {}; a new one takes about {new}, a stopped one {woken}", fleet.coming);
    let _ = writeln!(
        text,
        "draining: {}, stopped: {}, in all: {}",
        fleet.draining, fleet.stopped, fleet.servers_total
    );
    text.push_str(&plan(fleet));
    for trouble in fleet.alarms.iter().chain(&fleet.troubles) {
        let _ = writeln!(text, "{}", style.paint(&printable_lines(trouble), Tone::Bad));
    }
    if !fleet.events.is_empty() {
        text.push_str("latest events:\n");
    }
    for event in fleet.events.iter().rev().take(10).rev() {
        let _ = writeln!(text, "  {}  {}", time_of_day(event.time_unix_ms), printable(&event.text));
    }
    text
}

/// Renders the pending actions.
pub(super) fn plan(fleet: &FleetSnapshot) -> String {
    if fleet.actions.is_empty() {
        return "to be done: nothing\n".to_owned();
    }
    let when = if fleet.paused { "paused; would be done" } else { "to be done" };
    let actions: Vec<String> = fleet.actions.iter().map(|action| printable(action)).collect();
    format!("{when}: {}\n", actions.join(", "))
}

fn servers(fleet: &FleetSnapshot, style: Style) -> String {
    const COLUMNS: [(&str, Align); 3] =
        [("SERVER", Align::Left), ("STATE", Align::Left), ("REQUESTS", Align::Right)];
    if fleet.servers.is_empty() {
        return "it has no server\n".to_owned();
    }
    let mut table = Table::new(&COLUMNS);
    for server in &fleet.servers {
        let tone = match server.state.as_str() {
            "active" => Tone::Good,
            "unhealthy" | "failed" => Tone::Bad,
            "draining" | "stopping" | "stopped" | "deleting" => Tone::Calm,
            _ => Tone::Warning,
        };
        table.row(vec![
            server.name.as_str().into(),
            Cell::toned(server.state.as_str(), tone),
            human::count(server.active).into(),
        ]);
    }
    table.render("", style)
}

fn state(fleet: &FleetSnapshot) -> Cell {
    match (fleet.leads, fleet.paused, fleet.pinned) {
        (false, ..) => Cell::toned("not led here", Tone::Warning),
        (true, true, _) => Cell::toned("paused", Tone::Calm),
        (true, false, Some(servers)) => Cell::toned(format!("held at {servers}"), Tone::Calm),
        (true, false, None) => Cell::toned("follows demand", Tone::Good),
    }
}

fn time_of_day(unix_ms: u64) -> String {
    let seconds = unix_ms / 1_000 % 86_400;
    format!("{:02}:{:02}:{:02}Z", seconds / 3_600, seconds / 60 % 60, seconds % 60)
}

/// A history row as JSON.
#[derive(Debug, Serialize)]
pub(super) struct Shown {
    timestamp: f64,
    date: String,
    elapsed_s: f64,
    requests_total: Option<u64>,
    requests: Option<u64>,
    rate_per_s: Option<f64>,
    rate_peak_per_s: Option<f64>,
    needed: u32,
    needed_mean: Option<f64>,
    needed_peak: Option<u32>,
    wanted: u32,
    active_cloud: u32,
    active_balancer: u32,
    starting: Option<u32>,
    draining: Option<u32>,
    decision: String,
    reason: String,
    demand: Option<f64>,
    demand_peak: Option<f64>,
    alarms: String,
}

impl From<Row> for Shown {
    fn from(row: Row) -> Self {
        Self {
            date: row.date(),
            timestamp: row.timestamp,
            elapsed_s: row.elapsed_s,
            requests_total: row.requests_total,
            requests: row.requests,
            rate_per_s: row.rate_per_s,
            rate_peak_per_s: row.rate_peak_per_s,
            needed: row.needed,
            needed_mean: row.needed_mean,
            needed_peak: row.needed_peak,
            wanted: row.wanted,
            active_cloud: row.active_cloud,
            active_balancer: row.active_balancer,
            starting: row.starting,
            draining: row.draining,
            decision: row.decision,
            reason: row.reason,
            demand: row.demand,
            demand_peak: row.demand_peak,
            alarms: row.alarms,
        }
    }
}

#[cfg(test)]
mod tests {
    use weir_control::{FleetEvent, FleetPolicySnapshot, FleetServerSnapshot};

    use super::*;

    fn fleet() -> FleetSnapshot {
        let server = |name: &str, state: &str, active| FleetServerSnapshot {
            name: name.to_owned(),
            state: state.to_owned(),
            active,
        };
        FleetSnapshot {
            name: "web".to_owned(),
            pool: "front".to_owned(),
            provider: "process".to_owned(),
            leads: true,
            min: 2,
            max: 13,
            wanted: 4,
            needed: 4,
            reason: "target: demand is work for 3.40 servers".to_owned(),
            policies: vec![FleetPolicySnapshot {
                policy: "target".to_owned(),
                wanted: 4,
                reason: "demand is work for 3.40 servers".to_owned(),
            }],
            demand: Some(3.4),
            capacity: vec!["10.0/s: given".to_owned()],
            active: 3,
            coming: 1,
            servers_total: 4,
            start_up_ms: 4_000,
            wake_up_ms: 1_000,
            actions: vec!["create 1".to_owned()],
            events: vec![FleetEvent { time_unix_ms: 3_723_000, text: "create 1".to_owned() }],
            servers: vec![server("web-1", "active", 12), server("web-2", "bo\u{1b}oting", 0)],
            ..FleetSnapshot::default()
        }
    }

    #[test]
    fn a_fleet_is_shown_with_its_servers_and_its_troubles() {
        insta::assert_snapshot!(status(&[fleet()], Style::Plain));
        let held = FleetSnapshot {
            pinned: Some(5),
            alarms: vec!["5 servers are wanted, 4 are permitted".to_owned()],
            troubles: vec!["the API is down".to_owned()],
            ..fleet()
        };
        let away = FleetSnapshot { leads: false, ..fleet() };
        insta::assert_snapshot!(status(&[held, away], Style::Plain));
        assert_eq!(status(&[], Style::Plain), "there is no fleet\n");
    }

    #[test]
    fn an_explanation_says_what_is_measured_what_each_policy_wants_and_what_comes_of_it() {
        insta::assert_snapshot!(explain(&fleet(), Style::Plain));
        let paused = FleetSnapshot { paused: true, ..fleet() };
        assert_eq!(plan(&paused), "paused; would be done: create 1\n");
        assert_eq!(plan(&FleetSnapshot::default()), "to be done: nothing\n");
    }
}
