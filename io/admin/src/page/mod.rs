//! The status page: read-only HTML that refreshes itself, works without JavaScript and loads nothing. It
//! shows states in words and in colour. It escapes all texts from configs and servers. Its tables fit a
//! window of 1,280 pixels.

mod filter;
mod fleets;
mod html;
mod listeners;
mod parts;
mod pools;

use std::collections::BTreeMap;

use weir_control::{FleetSnapshot, NameFilter, PoolStatus, ProcessSnapshot, Snapshot, Tone, human};

pub use filter::Selection;
use html::{Html, class, esc};

const STYLE: &str = include_str!("style.css");

/// Seconds between refreshes.
const REFRESH_S: u32 = 5;

/// Pictures of fleets over time, by fleet name: markup that loads nothing.
pub type Pictures = BTreeMap<String, String>;

/// Writes the page with the listeners, pools, servers and fleets whose names are selected. Totals of the
/// process and of a pool count all of them.
pub fn status_page(snapshot: &Snapshot, pictures: &Pictures, selection: &Selection) -> String {
    let process = &snapshot.process;
    let names = selection.names();
    let mut page = Html::new();
    page.add(format_args!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"color-scheme\" content=\"light dark\">"
    ));
    if selection.refreshes() {
        page.add(format_args!("<meta http-equiv=\"refresh\" content=\"{REFRESH_S}\">"));
    }
    page.add(format_args!(
        "<title>Weir on {}</title><style>{STYLE}</style></head>\n<body>",
        esc(&process.host)
    ));
    header(&mut page, process);
    notices(&mut page, process);
    tiles(&mut page, snapshot);
    filter::section(&mut page, selection);
    let listeners: Vec<_> =
        snapshot.listeners.iter().filter(|listener| names.matches(&listener.name)).collect();
    let pools: Vec<_> = snapshot.pools.iter().filter(|pool| names.shows(pool)).collect();
    let fleets: Vec<_> = snapshot.fleets.iter().filter(|fleet| is_selected(names, fleet)).collect();
    if !names.is_empty() && listeners.is_empty() && pools.is_empty() && fleets.is_empty() {
        page.add(format_args!("<p class=\"more\">No listener, pool, server or fleet has such a name.</p>\n"));
    }
    if !listeners.is_empty() {
        listeners::section(&mut page, &listeners);
    }
    for pool in pools {
        pools::section(&mut page, pool, names);
    }
    for fleet in fleets {
        fleets::section(&mut page, fleet, pictures.get(&fleet.name).map(String::as_str));
    }
    footer(&mut page, selection);
    page.finish()
}

/// Returns true if the name of the fleet or of its pool is selected.
pub(crate) fn is_selected(names: &NameFilter, fleet: &FleetSnapshot) -> bool {
    names.matches(&fleet.name) || names.matches(&fleet.pool)
}

fn header(page: &mut Html, process: &ProcessSnapshot) {
    page.add(format_args!("<header><h1>Weir</h1><p>"));
    page.add(format_args!("version {} on <b>{}</b>", esc(&process.version), esc(&process.host)));
    page.add(format_args!(" &middot; process {} &middot; {} workers", process.pid, process.workers));
    page.add(format_args!(" &middot; up {}", human::span(process.uptime_ms)));
    page.add(format_args!(" &middot; config read {} ago</p></header>\n", human::span(process.config_age_ms)));
}

/// Writes urgent notices for the operator.
fn notices(page: &mut Html, process: &ProcessSnapshot) {
    if process.stopping {
        notice(page, Tone::Warning, "Stopping", "Nothing new is accepted; what is open is being finished.");
    }
    if let Some(error) = &process.reload_error {
        notice(page, Tone::Bad, "The last reload was refused; the config before it stays in force.", error);
    }
    if process.log_lines_dropped > 0 {
        notice(page, Tone::Warning, "Access log", &lines_lost(process.log_lines_dropped));
    }
    if process.runtime_changes > 0 {
        notice(page, Tone::Calm, "Runtime changes", &runtime_changes(process.runtime_changes));
    }
}

fn lines_lost(lines: u64) -> String {
    let subject = if lines == 1 {
        "1 access log line was".to_owned()
    } else {
        format!("{lines} access log lines were")
    };
    format!("{subject} lost: its target is full or slow.")
}

fn runtime_changes(servers: u64) -> String {
    let subject =
        if servers == 1 { "1 server differs".to_owned() } else { format!("{servers} servers differ") };
    format!("{subject} from the config by what was changed at runtime.")
}

fn notice(page: &mut Html, tone: Tone, title: &str, text: &str) {
    let tone = class(tone);
    page.add(format_args!(
        "<p class=\"notice {tone}\"><b>{}</b> <span>{}</span></p>\n",
        esc(title),
        esc(text)
    ));
}

fn tiles(page: &mut Html, snapshot: &Snapshot) {
    let process = &snapshot.process;
    let pools_up = snapshot.pools.iter().filter(|pool| pool.status() == PoolStatus::Up).count();
    let servers = || snapshot.pools.iter().flat_map(|pool| &pool.servers);
    let servers_up = servers().filter(|server| server.takes_requests()).count();
    let servers_all = servers().count();
    page.add(format_args!("<section class=\"tiles\">"));
    let limit = process
        .connections
        .limit
        .map_or("no limit".to_owned(), |limit| format!("of {}", human::count(limit)));
    tile(page, "Connections", &human::count(process.connections.current), &limit, Tone::Good);
    let most = format!("most {}/s", human::count(process.request_rate.max));
    tile(page, "Requests", &format!("{}/s", human::count(process.request_rate.current)), &most, Tone::Good);
    tile(page, "Requests in all", &human::count(process.requests_total), "since the start", Tone::Good);
    let tone = |up: usize, all: usize| if up == all { Tone::Good } else { Tone::Warning };
    let pools = snapshot.pools.len();
    tile(page, "Pools up", &pools_up.to_string(), &format!("of {pools}"), tone(pools_up, pools));
    tile(
        page,
        "Servers in rotation",
        &servers_up.to_string(),
        &format!("of {servers_all}"),
        tone(servers_up, servers_all),
    );
    if let Some(memory) = process.memory_bytes {
        tile(page, "Memory", &human::bytes(memory), "resident", Tone::Good);
    }
    page.add(format_args!("</section>\n"));
}

fn tile(page: &mut Html, name: &str, value: &str, more: &str, tone: Tone) {
    let tone = class(tone);
    page.add(format_args!(
        "<div class=\"tile {tone}\"><span>{name}</span><b>{value}</b><small>{more}</small></div>"
    ));
}

fn footer(page: &mut Html, selection: &Selection) {
    page.add(format_args!("<footer>"));
    if selection.refreshes() {
        page.add(format_args!("Refreshed every {REFRESH_S} s &middot; "));
    }
    page.add(format_args!(
        "The same as <a href=\"status.json\">JSON</a>, \
         <a href=\"status.csv\">CSV</a>, <a href=\"metrics\">metrics</a></footer></body></html>\n"
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_of_one_is_told_in_the_singular() {
        assert!(lines_lost(1).starts_with("1 access log line was lost"));
        assert!(lines_lost(2).starts_with("2 access log lines were lost"));
        assert!(runtime_changes(1).starts_with("1 server differs from"));
        assert!(runtime_changes(2).starts_with("2 servers differ from"));
    }
}
