//! Prints the tables of `weir ctl show` and `weir top --once`.

use weir_control::{
    BreakerStatus, ListenerSnapshot, NameFilter, Origin, PoolSnapshot, ProcessSnapshot, ServerSnapshot,
    Snapshot, Tone, Traffic, human,
};

use super::table::{Align, Cell, Style, Table, printable, printable_lines};

const NONE: &str = "-";

/// Prints the process, the listeners, and the selected pools and servers.
pub(crate) fn snapshot(snapshot: &Snapshot, names: &NameFilter, style: Style) -> String {
    let mut out = process(&snapshot.process, style);
    if !snapshot.listeners.is_empty() {
        out.push('\n');
        out.push_str(&listeners(&snapshot.listeners, style));
    }
    for one in snapshot.pools.iter().filter(|pool| names.shows(pool)) {
        out.push('\n');
        out.push_str(&pool(one, names, style));
    }
    out
}

pub(crate) fn process(process: &ProcessSnapshot, style: Style) -> String {
    let head = format!("weir {} on {}", printable(&process.version), printable(&process.host));
    let uptime = human::span(process.uptime_ms);
    let workers = counted(process.workers.into(), "worker");
    let mut out = format!("{}, process {}, {workers}, up {uptime}\n", style.bold(&head), process.pid);
    let limit =
        process.connections.limit.map_or(String::new(), |limit| format!(" of {}", human::count(limit)));
    out.push_str(&format!(
        "connections {}{limit} (most {}), requests {}/s (most {}/s), {} in all\n",
        human::count(process.connections.current),
        human::count(process.connections.max),
        human::count(process.request_rate.current),
        human::count(process.request_rate.max),
        human::count(process.requests_total),
    ));
    let mut resources = vec![format!("config read {} ago", human::span(process.config_age_ms))];
    resources.extend(process.memory_bytes.map(|bytes| format!("memory {}", human::bytes(bytes))));
    resources.extend(process.descriptors.map(|open| format!("descriptors {}", human::count(open.current))));
    out.push_str(&format!("{}\n", resources.join(", ")));
    for (tone, text) in notices(process) {
        out.push_str(&style.paint(&text, tone));
        out.push('\n');
    }
    out
}

/// Returns notices that an operator must see.
pub(crate) fn notices(process: &ProcessSnapshot) -> Vec<(Tone, String)> {
    let mut notices = Vec::new();
    if process.stopping {
        notices.push((Tone::Warning, "stopping: nothing new is accepted".to_owned()));
    }
    if let Some(error) = &process.reload_error {
        // Line breaks matter: the marks below an excerpt point at the line above them.
        notices.push((Tone::Bad, format!("the last reload was refused:\n{}", printable_lines(error))));
    }
    if process.memory_is_short {
        let text = "memory is short: idle connections give way, new clients come in only in their place";
        notices.push((Tone::Bad, text.to_owned()));
    }
    if process.log_lines_dropped > 0 {
        let lines = counted(process.log_lines_dropped, "access log line");
        notices.push((Tone::Warning, format!("{lines} {} lost", were(process.log_lines_dropped))));
    }
    if process.runtime_changes > 0 {
        let (servers, were) = (counted(process.runtime_changes, "server"), were(process.runtime_changes));
        let text = format!("{servers} {were} changed at runtime: weir ctl show runtime");
        notices.push((Tone::Calm, text));
    }
    notices
}

pub(crate) fn listeners(listeners: &[ListenerSnapshot], style: Style) -> String {
    let mut table = Table::new(&[
        ("LISTENER", Align::Left),
        ("STATE", Align::Left),
        ("ADDRESS", Align::Left),
        ("CONNECTIONS", Align::Right),
        ("RATE", Align::Right),
        ("REQUESTS", Align::Right),
        ("4XX", Align::Right),
        ("5XX", Align::Right),
        ("BAD", Align::Right),
        ("DENIED", Align::Right),
        ("IN", Align::Right),
        ("OUT", Align::Right),
        ("P50", Align::Right),
        ("P99", Align::Right),
    ]);
    for listener in listeners {
        table.row(vec![
            listener.name.as_str().into(),
            Cell::toned(listener.status.name(), listener.status.tone()),
            listener.bind.join(",").into(),
            of_limit(listener.connections.current, listener.connections.limit),
            rate(listener.request_rate.current),
            human::count(listener.requests_total).into(),
            human::count(listener.responses.client_error).into(),
            Cell::fault(listener.responses.server_error),
            human::count(listener.request_errors).into(),
            Cell::fault(listener.connections_denied),
            human::bytes(listener.request_bytes).into(),
            human::bytes(listener.response_bytes).into(),
            quantile(listener.duration.quantile_us(0.5)),
            quantile(listener.duration.quantile_us(0.99)),
        ]);
    }
    table.render("", style)
}

/// Prints a headline and a table of the selected servers.
pub(crate) fn pool(pool: &PoolSnapshot, names: &NameFilter, style: Style) -> String {
    format!("{}\n{}", pool_headline(pool, style), servers(pool, names, style))
}

fn pool_headline(pool: &PoolSnapshot, style: Style) -> String {
    let status = pool.status();
    let name = style.bold(&format!("pool {}", printable(&pool.name)));
    let mut parts = vec![style.paint(status.name(), pool.tone()), printable(&pool.algorithm)];
    let (active, backup) = pool.usable();
    parts.push(format!("{} of {} servers in rotation", active + backup, pool.servers.len()));
    if pool.queue.max > 0 {
        parts.push(format!("{} waiting (most {})", pool.queue.current, pool.queue.max));
        if pool.queue.current > 0 {
            parts.push(format!("the longest for {}", human::span(pool.queue_longest_ms)));
        }
    }
    if let Some(breaker) = pool.breaker
        && breaker.state != BreakerStatus::Closed
    {
        parts.push(style.paint(&format!("breaker {}", breaker.state.name()), Tone::Bad));
    }
    let faults = [
        ("met an open breaker", pool.breaker.map_or(0, |breaker| breaker.refused)),
        ("found no server", pool.nobody_left),
        ("found all servers busy", pool.busy),
        ("found the queue full", pool.queue_full),
        ("would have waited too long", pool.queue_hopeless),
    ];
    for (what, count) in faults.iter().filter(|(_, count)| *count > 0) {
        parts.push(style.paint(&format!("{} {what}", counted(*count, "request")), Tone::Bad));
    }
    format!("{name}: {}", parts.join(", "))
}

fn servers(pool: &PoolSnapshot, names: &NameFilter, style: Style) -> String {
    let mut table = Table::new(&[
        ("SERVER", Align::Left),
        ("STATE", Align::Left),
        ("SINCE", Align::Right),
        ("ADDRESS", Align::Left),
        ("WEIGHT", Align::Right),
        ("ACTIVE", Align::Right),
        ("RATE", Align::Right),
        ("REQUESTS", Align::Right),
        ("5XX", Align::Right),
        ("ERRORS", Align::Right),
        ("RETRIES", Align::Right),
        ("P50", Align::Right),
        ("P99", Align::Right),
        ("CHECK", Align::Left),
    ]);
    for server in names.servers(pool) {
        let state = server.state();
        let mut row = vec![
            name(server).into(),
            Cell::toned(state.to_string(), state.tone()),
            human::span(server.changed_ms_ago).into(),
            changed(server, "address", &server.address).into(),
            weight(server).into(),
        ];
        row.extend(traffic(&server.traffic));
        row.push(check(server));
        table.row(row);
    }
    let mut total: Vec<Cell> = vec!["all".into(), "".into(), "".into(), "".into(), "".into()];
    total.extend(traffic(&pool.traffic));
    table.row(total);
    table.render("", style)
}

fn traffic(traffic: &Traffic) -> [Cell; 8] {
    [
        of_limit(traffic.active.current, traffic.active.limit),
        rate(traffic.request_rate.current),
        human::count(traffic.requests_total).into(),
        Cell::fault(traffic.responses.server_error),
        Cell::fault(traffic.connect_errors + traffic.response_errors),
        human::count(traffic.retries).into(),
        quantile(traffic.total.quantile_us(0.5)),
        quantile(traffic.total.quantile_us(0.99)),
    ]
}

/// Returns the server's name with its special properties: `spare (backup)`, `w9 (added)`.
pub(crate) fn name(server: &ServerSnapshot) -> String {
    let mut marks = Vec::new();
    if server.backup {
        marks.push("backup".to_owned());
    }
    if server.priority > 0 {
        marks.push(format!("priority {}", server.priority));
    }
    marks.extend(server.zone.as_ref().map(|zone| format!("zone {}", printable(zone))));
    if server.stands_by {
        marks.push("stands by".to_owned());
    }
    if server.origin == Origin::Runtime {
        marks.push("added".to_owned());
    }
    if marks.is_empty() { server.name.clone() } else { format!("{} ({})", server.name, marks.join(", ")) }
}

/// Returns the text, with `*` if the value was changed at runtime.
fn changed(server: &ServerSnapshot, what: &str, text: &str) -> String {
    let is_changed = server.overridden.iter().any(|overridden| overridden == what);
    format!("{text}{}", if is_changed { "*" } else { "" })
}

/// Returns `2`, or `2 (25%)` while only a part of the weight is in effect.
fn weight(server: &ServerSnapshot) -> String {
    let weight = changed(server, "weight", &server.weight.to_string());
    match server.weight_percent {
        Some(percent) => format!("{weight} ({percent}%)"),
        None => weight,
    }
}

/// Returns the check result, such as `L7OK 200 1.87ms`, with its error. Adds `; agent: 75%` if the server has
/// an agent.
pub(crate) fn check(server: &ServerSnapshot) -> Cell {
    let cell = check_alone(server);
    let Some(agent) = &server.agent else { return cell };
    let remark =
        if agent.remark.is_empty() { String::new() } else { format!(" ({})", printable(&agent.remark)) };
    Cell { text: format!("{}; agent: {}{remark}", cell.text, printable(&agent.says)), ..cell }
}

fn check_alone(server: &ServerSnapshot) -> Cell {
    let Some(check) = &server.check else { return NONE.into() };
    let status = check.status.map_or(String::new(), |status| format!(" {status}"));
    let text = format!("{}{status} {}", check.code.name(), human::latency(check.duration_us));
    match check.code.passed() {
        true => text.into(),
        false if check.text.is_empty() => Cell::toned(text, Tone::Bad),
        false => Cell::toned(format!("{text}: {}", check.text), Tone::Bad),
    }
}

fn of_limit(current: u64, limit: Option<u64>) -> Cell {
    let current = human::count(current);
    match limit {
        Some(limit) => format!("{current}/{}", human::count(limit)).into(),
        None => current.into(),
    }
}

fn rate(per_second: u64) -> Cell {
    format!("{}/s", human::count(per_second)).into()
}

fn quantile(us: Option<u64>) -> Cell {
    us.map_or(NONE.to_owned(), human::latency).into()
}

/// Returns `1 server`, `2 servers`.
fn counted(count: u64, what: &str) -> String {
    format!("{} {what}{}", human::count(count), if count == 1 { "" } else { "s" })
}

fn were(count: u64) -> &'static str {
    if count == 1 { "was" } else { "were" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn why_a_reload_was_refused_keeps_its_lines() {
        let error = "error: unknown key\n  |\n3 | ballance = 1\u{1b}[31m\n  | ^^^^^^^^";
        let process = ProcessSnapshot { reload_error: Some(error.to_owned()), ..ProcessSnapshot::default() };
        let expected =
            "the last reload was refused:\nerror: unknown key\n  |\n3 | ballance = 1 [31m\n  | ^^^^^^^^";
        assert_eq!(notices(&process), [(Tone::Bad, expected.to_owned())]);
        assert!(super::process(&process, Style::Plain).ends_with(&format!("\n{expected}\n")));
    }

    /// Returns the texts for this count of everything.
    fn said(count: u64) -> String {
        let process = ProcessSnapshot {
            workers: count.try_into().unwrap(),
            log_lines_dropped: count,
            runtime_changes: count,
            ..ProcessSnapshot::default()
        };
        let pool = PoolSnapshot { nobody_left: count, busy: count, ..PoolSnapshot::default() };
        let first_line = super::process(&process, Style::Plain).lines().next().map(str::to_owned);
        let notices = notices(&process).into_iter().map(|(_, text)| text);
        let lines = first_line.into_iter().chain(notices).chain([pool_headline(&pool, Style::Plain)]);
        lines.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn one_is_told_in_the_singular() {
        insta::assert_snapshot!(said(1), @"
        weir  on , process 0, 1 worker, up 0s
        1 access log line was lost
        1 server was changed at runtime: weir ctl show runtime
        pool : down, , 0 of 0 servers in rotation, 1 request found no server, 1 request found all servers busy
        ");
    }

    #[test]
    fn several_are_told_in_the_plural() {
        insta::assert_snapshot!(said(2), @"
        weir  on , process 0, 2 workers, up 0s
        2 access log lines were lost
        2 servers were changed at runtime: weir ctl show runtime
        pool : down, , 0 of 0 servers in rotation, 2 requests found no server, 2 requests found all servers busy
        ");
    }
}
