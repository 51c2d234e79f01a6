//! CSV rows of servers and pools.

use weir_control::{
    AdminState, CheckCode, Health, Latency, PoolSnapshot, PoolStatus, Protocol, ServerSnapshot, Traffic,
};

use super::row::{Fields, responses};

pub(super) fn server(
    fields: &mut Fields<'_>,
    (iid, sid): (usize, usize),
    pool: &PoolSnapshot,
    server: &ServerSnapshot,
) {
    let traffic = &server.traffic;
    fields.text("pxname", &pool.name);
    fields.text("svname", &server.name);
    // The queue belongs to the pool; servers have none.
    fields.set("qcur", 0);
    fields.set("qmax", 0);
    common(fields, traffic, pool.protocol);
    fields.text("status", &status(server));
    fields.set("weight", server.effective_weight);
    fields.set("act", u8::from(!server.backup));
    fields.set("bck", u8::from(server.backup));
    fields.set("lastchg", server.changed_ms_ago / 1_000);
    fields.set("pid", 1);
    fields.set("iid", iid);
    fields.set("sid", sid);
    fields.set("type", 2);
    fields.text("addr", &server.address);
    fields.text("mode", pool.protocol.name());
    fields.set("srv_icur", server.connections_idle);
    fields.set("idle_conn_cur", server.connections_idle);
    fields.set("used_conn_cur", server.connections_used);
    fields.set("uweight", server.weight);
    if let Some(check) = &server.check {
        fields.set("chkfail", server.check_failures);
        fields.set("chkdown", server.times_down);
        fields.set("downtime", server.downtime_ms / 1_000);
        fields.text("check_status", check.code.name());
        fields.maybe("check_code", check.status);
        fields.set("check_duration", check.duration_us / 1_000);
        fields.text("last_chk", &check.text);
        fields.text("check_desc", description(check.code));
    }
    match server.health {
        Health::GoingDown { fall, .. } => fields.set("check_fall", fall),
        Health::GoingUp { rise, .. } => fields.set("check_rise", rise),
        _ => {}
    }
}

pub(super) fn backend(fields: &mut Fields<'_>, iid: usize, pool: &PoolSnapshot) {
    let (active, backup) = pool.usable();
    let servers = || pool.servers.iter().filter(|server| server.takes_requests());
    fields.text("pxname", &pool.name);
    fields.text("svname", "BACKEND");
    fields.set("qcur", pool.queue.current);
    fields.set("qmax", pool.queue.max);
    fields.maybe("qlimit", pool.queue.limit);
    common(fields, &pool.traffic, pool.protocol);
    fields.text("status", if pool.status() == PoolStatus::Down { "DOWN" } else { "UP" });
    fields.set("weight", servers().map(|server| server.effective_weight).sum::<u32>());
    fields.set("uweight", servers().map(|server| server.weight).sum::<u32>());
    fields.set("act", active);
    fields.set("bck", backup);
    fields.set("chkdown", pool.times_down);
    fields.set("lastchg", pool.changed_ms_ago / 1_000);
    fields.set("downtime", pool.downtime_ms / 1_000);
    fields.set("pid", 1);
    fields.set("iid", iid);
    fields.set("sid", 0);
    fields.set("type", 1);
    fields.text("mode", pool.protocol.name());
    fields.text("algo", algorithm(&pool.algorithm));
    fields.maybe("qtime", millis(pool.queue_time.mean_us()));
    fields.set("qtime_max", pool.queue_time.max_us() / 1_000);
}

/// Sets the columns that servers and pools have in common.
fn common(fields: &mut Fields<'_>, traffic: &Traffic, protocol: Protocol) {
    fields.set("scur", traffic.active.current);
    fields.set("smax", traffic.active.max);
    fields.maybe("slim", traffic.active.limit);
    fields.set("stot", traffic.requests_total);
    fields.set("lbtot", traffic.tries_total);
    fields.set("bin", traffic.request_bytes);
    fields.set("bout", traffic.response_bytes);
    // As in HAProxy, a retried connection counts as a retry only.
    fields.set("econ", traffic.connect_errors.saturating_sub(traffic.connect_retries));
    fields.set("eresp", traffic.response_errors);
    fields.set("wretr", traffic.retries);
    fields.set("wredis", traffic.redispatches);
    fields.set("rate", traffic.request_rate.current);
    fields.set("rate_max", traffic.request_rate.max);
    fields.set("cli_abrt", traffic.client_aborts);
    fields.set("srv_abrt", traffic.server_aborts);
    match traffic.idle_ms {
        Some(ms) => fields.set("lastsess", ms / 1_000),
        None => fields.set("lastsess", -1),
    }
    fields.set("connect", traffic.connections_total);
    fields.set("reuse", traffic.reuses);
    let times = [
        ("ctime", "ctime_max", &traffic.connect),
        ("rtime", "rtime_max", &traffic.first_byte),
        ("ttime", "ttime_max", &traffic.total),
    ];
    for (mean, max, latency) in times {
        fields.maybe(mean, millis(Latency::mean_us(latency)));
        fields.set(max, latency.max_us() / 1_000);
    }
    if protocol == Protocol::Http {
        responses(fields, &traffic.responses);
        fields.set("req_tot", traffic.requests_total);
    }
}

fn millis(us: Option<u64>) -> Option<u64> {
    us.map(|us| us / 1_000)
}

/// Returns the status in HAProxy's words. HAProxy counts the remaining health downwards. It has no ejection,
/// so an ejected server is DOWN.
fn status(server: &ServerSnapshot) -> String {
    let health = match server.health {
        Health::NoCheck => "no check".to_owned(),
        Health::Up | Health::HalfOpen { .. } => "UP".to_owned(),
        Health::GoingDown { failures, fall } => format!("UP {}/{fall}", fall.saturating_sub(failures)),
        Health::Down | Health::Ejected { .. } => "DOWN".to_owned(),
        Health::GoingUp { successes, rise } => format!("DOWN {successes}/{rise}"),
    };
    match server.admin {
        AdminState::Maintenance => "MAINT".to_owned(),
        _ if !server.health.usable() => health,
        AdminState::Drain => "DRAIN".to_owned(),
        AdminState::Ready if server.weight == 0 => "DRAIN".to_owned(),
        AdminState::Ready => health,
    }
}

/// Returns HAProxy's name of the algorithm, if HAProxy has it.
fn algorithm(name: &str) -> &str {
    match name {
        "round-robin" => "roundrobin",
        "least-connections" => "leastconn",
        other => other,
    }
}

fn description(code: CheckCode) -> &'static str {
    match code {
        CheckCode::Unknown => "Unknown",
        CheckCode::Initializing => "Initializing",
        CheckCode::SocketError => "Socket error",
        CheckCode::L4Ok => "Layer4 check passed",
        CheckCode::L4Timeout => "Layer4 timeout",
        CheckCode::L4Refused => "Layer4 connection problem",
        CheckCode::L6Ok => "Layer6 check passed",
        CheckCode::L6Timeout => "Layer6 timeout",
        CheckCode::L6Failed => "Layer6 invalid response",
        CheckCode::L7Ok => "Layer7 check passed",
        CheckCode::L7Timeout => "Layer7 timeout",
        CheckCode::L7Broken => "Layer7 invalid response",
        CheckCode::L7Unexpected => "Layer7 wrong status",
    }
}
