//! The pools on the status page.

use weir_control::{
    AdminState, AgentSnapshot, BreakerStatus, CheckSnapshot, NameFilter, Origin, PoolSnapshot, Protocol,
    ServerSnapshot, Tone, Traffic, human,
};

use super::html::{Html, class, esc};
use super::parts;

/// Maximum number of servers shown per pool. A browser takes seconds for 10,000 rows. If there are more,
/// servers in trouble come first.
const SERVERS_MAX: usize = 500;

const COLUMNS: [(&str, &str); 17] = [
    ("Server", "Its name, and where it listens"),
    (
        "State, last check",
        "What the operator wants, checks and traffic say, and for how long; how the last check ended, and how long it took",
    ),
    ("Weight", "Its share of the traffic"),
    ("Active", "Requests in flight, of those permitted"),
    ("Rate", "Requests in the last second"),
    ("p50", "Half of all requests took at most this long"),
    ("p99", "99 of 100 requests took at most this long"),
    ("Requests", "Requests since the start"),
    ("2xx", "Responses"),
    ("3xx", "Responses"),
    ("4xx", "Responses"),
    ("5xx", "Responses"),
    ("Connect", "Connections that could not be opened"),
    ("Broken", "Responses that did not come, or came broken"),
    ("Retried", "Requests that were tried again after failing here"),
    ("Reuse", "Requests over a connection that had been used before"),
    ("In, out", "Bytes from clients and to clients"),
];

/// Writes the pool with its selected servers.
pub(super) fn section(page: &mut Html, pool: &PoolSnapshot, names: &NameFilter) {
    heading(page, pool);
    parts::open_table(page, 2, &COLUMNS);
    let servers = names.servers(pool);
    let hidden = servers.len().saturating_sub(SERVERS_MAX);
    for server in shown(servers) {
        server_row(page, pool, server);
    }
    total_row(page, pool);
    parts::close_table(page);
    if hidden > 0 {
        page.add(format_args!(
            "<p class=\"more\">{hidden} more servers, all in good order or of the same kind: "
        ));
        page.add(format_args!(
            "see <a href=\"status.json\">JSON</a> or <code>weir ctl show pools</code>.</p>\n"
        ));
    }
    page.add(format_args!("</section>\n"));
}

fn heading(page: &mut Html, pool: &PoolSnapshot) {
    let (active, backup) = pool.usable();
    let status = pool.status();
    page.add(format_args!("<section><h2>Pool {} ", esc(&pool.name)));
    parts::badge(page, pool.tone(), status.name());
    page.add(format_args!("</h2><p class=\"about\">{}", esc(&pool.algorithm)));
    page.add(format_args!(" &middot; {} of {} servers in rotation", active + backup, pool.servers.len()));
    if pool.queue.max > 0 {
        let (current, max) = (pool.queue.current, pool.queue.max);
        page.add(format_args!(" &middot; {current} waiting (most {max}, {} in all)", pool.queued_total));
        if current > 0 {
            page.add(format_args!(", the longest for {}", human::span(pool.queue_longest_ms)));
        }
    }
    if let Some(breaker) = pool.breaker
        && breaker.state != BreakerStatus::Closed
    {
        let state = breaker.state.name();
        page.add(format_args!(" &middot; <b class=\"fault\">breaker {state}</b>"));
    }
    let faults = [
        ("met an open breaker", pool.breaker.map_or(0, |breaker| breaker.refused)),
        ("found no server", pool.nobody_left),
        ("found all servers busy", pool.busy),
        ("found the queue full", pool.queue_full),
        ("would have waited too long", pool.queue_hopeless),
    ];
    for (what, count) in faults.iter().filter(|(_, count)| *count > 0) {
        page.add(format_args!(" &middot; <b class=\"fault\">{} requests {what}</b>", human::count(*count)));
    }
    if pool.times_down > 0 {
        let downtime = human::span(pool.downtime_ms);
        page.add(format_args!(" &middot; times down: {} ({downtime} in all)", pool.times_down));
    }
    page.add(format_args!("</p>\n"));
}

/// Returns all servers in order, or, if there are too many, those in trouble first.
fn shown(mut shown: Vec<&ServerSnapshot>) -> Vec<&ServerSnapshot> {
    if shown.len() > SERVERS_MAX {
        shown.sort_by_key(|server| std::cmp::Reverse(server.state().tone()));
        shown.truncate(SERVERS_MAX);
    }
    shown
}

fn server_row(page: &mut Html, pool: &PoolSnapshot, server: &ServerSnapshot) {
    let state = server.state();
    page.add(format_args!("<tr class=\"{}\"><th scope=\"row\">{}", class(state.tone()), esc(&server.name)));
    if server.backup {
        parts::tag(page, "backup", "gets requests only when no other server can");
    }
    if server.priority > 0 {
        let text = format!("priority {}", server.priority);
        parts::tag(page, &text, "gets requests only when no server of a lower number can");
    }
    if let Some(zone) = &server.zone {
        parts::tag(page, zone, "its zone");
    }
    if server.stands_by {
        parts::tag(
            page,
            "stands by",
            "could take requests, but others are preferred: by priority, zone or subset",
        );
    }
    if server.origin == Origin::Runtime {
        parts::tag(page, "added", "added at runtime, not in the config");
    }
    parts::address(page, &server.address);
    changed(page, server, "address");
    page.add(format_args!("</th><td class=\"text state\">"));
    parts::badge(page, state.tone(), &state.to_string());
    state_details(page, server);
    if let Some(check) = &server.check {
        check_part(page, check);
    }
    if let Some(agent) = &server.agent {
        agent_part(page, agent);
    }
    page.add(format_args!("</td>"));
    weight_cell(page, server);
    traffic_cells(page, pool.protocol, &server.traffic);
    page.add(format_args!("</tr>\n"));
}

/// Writes the duration of the state, and the health if the administrative state hides it.
fn state_details(page: &mut Html, server: &ServerSnapshot) {
    let downtime = human::span(server.downtime_ms);
    let history = format!(
        "went down {} times, {downtime} in all; ejected {} times",
        server.times_down, server.ejections
    );
    let since = human::span(server.changed_ms_ago);
    page.add(format_args!(" <small title=\"{}\">{since}</small>", esc(&history)));
    if server.admin != AdminState::Ready && !server.health.usable() {
        parts::badge(page, Tone::Bad, &server.health.to_string());
    }
}

/// Marks a value that was changed at runtime.
fn changed(page: &mut Html, server: &ServerSnapshot, what: &str) {
    if server.overridden.iter().any(|overridden| overridden == what) {
        parts::tag(page, "changed", "changed at runtime, differs from the config");
    }
}

/// Writes the outcome of the last check, with the reason in the tool tip.
fn check_part(page: &mut Html, check: &CheckSnapshot) {
    let tone = if check.code.passed() { "" } else { " fault" };
    let ago = human::span(check.ms_ago);
    page.add(format_args!("<small class=\"below{tone}\" title=\"{}; {ago} ago\">", esc(&check.text)));
    page.add(format_args!("{}", check.code.name()));
    if let Some(status) = check.status {
        page.add(format_args!(" {status}"));
    }
    page.add(format_args!(" {}</small>", human::latency(check.duration_us)));
}

/// Writes the state that the server's agent reports, with its remark in the tool tip.
fn agent_part(page: &mut Html, agent: &AgentSnapshot) {
    let ago = human::span(agent.ms_ago);
    let silent = if agent.is_silent { " silent" } else { "" };
    page.add(format_args!(
        "<small class=\"below\" title=\"{}; {ago} ago\">agent{silent}",
        esc(&agent.remark)
    ));
    page.add(format_args!(" {}</small>", esc(&agent.says)));
}

fn weight_cell(page: &mut Html, server: &ServerSnapshot) {
    let (weight, now) = (server.weight, server.effective_weight);
    let zero = if weight == 0 { " class=\"zero\"" } else { "" };
    page.add(format_args!("<td{zero} title=\"right now {now}"));
    if let Some(reason) = &server.weight_reason {
        page.add(format_args!("; {}", esc(reason)));
    }
    page.add(format_args!("\">{weight}"));
    if let Some(percent) = server.weight_percent {
        page.add(format_args!("<small> now {percent}%</small>"));
    } else if server.takes_requests() && now != weight {
        page.add(format_args!("<small> now {now}</small>"));
    }
    changed(page, server, "weight");
    page.add(format_args!("</td>"));
}

fn total_row(page: &mut Html, pool: &PoolSnapshot) {
    page.add(format_args!("<tr class=\"total\"><th scope=\"row\">all</th>"));
    page.add(format_args!("<td></td><td></td>"));
    traffic_cells(page, pool.protocol, &pool.traffic);
    page.add(format_args!("</tr>\n"));
}

fn traffic_cells(page: &mut Html, protocol: Protocol, traffic: &Traffic) {
    parts::level(page, traffic.active);
    parts::rate(page, traffic.request_rate);
    parts::latency(page, &traffic.total);
    parts::number(page, traffic.requests_total);
    match protocol {
        Protocol::Http => parts::responses(page, &traffic.responses),
        Protocol::Tcp => parts::none(page, 4),
    }
    parts::fault(page, traffic.connect_errors);
    parts::fault(page, traffic.response_errors);
    parts::number(page, traffic.retries);
    let reused = traffic.reuses.saturating_mul(100).checked_div(traffic.tries_total);
    match reused {
        Some(percent) => page.add(format_args!("<td title=\"{} requests\">{percent}%</td>", traffic.reuses)),
        None => parts::none(page, 1),
    }
    parts::bytes(page, traffic.request_bytes, traffic.response_bytes);
}
