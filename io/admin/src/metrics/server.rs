//! Metrics of servers.

use weir_control::{PoolSnapshot, ServerSnapshot, ServerState};

use super::family::{Family, Histograms, responses, whole};
use super::text::{Kind, Labels, Text, Value};

const FAMILIES: &[Family<ServerSnapshot>] = &[
    Family::gauge("weir_server_up", "1 if the server takes requests.", |s| whole(s.takes_requests().into())),
    Family::gauge("weir_server_weight", "Its share, as configured or changed at runtime.", |s| {
        whole(s.weight.into())
    }),
    Family::gauge("weir_server_effective_weight", "Its share right now, slow start included.", |s| {
        whole(s.effective_weight.into())
    }),
    Family::gauge(
        "weir_server_weight_percent",
        "What counts of its weight right now: slow start, agent, zone and subset; 0 while it takes nothing.",
        |s| whole(if s.effective_weight == 0 { 0 } else { s.weight_percent.unwrap_or(100).into() }),
    ),
    Family::gauge(
        "weir_server_agent_answered",
        "1 if the agent answered the last question; absent without one.",
        |s| s.agent.as_ref().map(|agent| Value::Whole((!agent.is_silent).into())),
    ),
    Family::gauge("weir_server_active_requests", "Requests (TCP: connections) in flight.", |s| {
        whole(s.traffic.active.current)
    }),
    Family::gauge("weir_server_active_requests_limit", "Requests (TCP: connections) at once.", |s| {
        s.traffic.active.limit.map(Value::Whole)
    }),
    Family::counter(
        "weir_server_requests",
        "Requests (TCP: connections) that the server was chosen for; each try is one.",
        |s| whole(s.traffic.requests_total),
    ),
    Family::counter("weir_server_connections_opened", "Connections opened to the server.", |s| {
        whole(s.traffic.connections_total)
    }),
    Family::counter("weir_server_reuses", "Requests over a connection that had been used before.", |s| {
        whole(s.traffic.reuses)
    }),
    Family::counter("weir_server_connect_errors", "Connections that could not be opened.", |s| {
        whole(s.traffic.connect_errors)
    }),
    Family::counter("weir_server_response_errors", "Responses that did not come, or came broken.", |s| {
        whole(s.traffic.response_errors)
    }),
    Family::counter(
        "weir_server_client_aborts",
        "Clients that went away while the server worked for them.",
        |s| whole(s.traffic.client_aborts),
    ),
    Family::counter(
        "weir_server_server_aborts",
        "Responses that the server broke off, or let stall, after they had begun.",
        |s| whole(s.traffic.server_aborts),
    ),
    Family::counter("weir_server_retries", "Requests that were tried again after failing here.", |s| {
        whole(s.traffic.retries)
    }),
    Family::counter("weir_server_redispatches", "Of these, the ones that went to another server.", |s| {
        whole(s.traffic.redispatches)
    }),
    Family::counter("weir_server_request_bytes", "Bytes from clients, sent to the server.", |s| {
        whole(s.traffic.request_bytes)
    }),
    Family::counter("weir_server_response_bytes", "Bytes from the server, for clients.", |s| {
        whole(s.traffic.response_bytes)
    }),
    Family::gauge(
        "weir_server_check_passed",
        "1 if the last active check passed; absent without checks.",
        |s| s.check.as_ref().map(|check| Value::Whole(check.code.passed().into())),
    ),
    Family::gauge("weir_server_check_duration_seconds", "How long the last active check took.", |s| {
        s.check.as_ref().map(|check| Value::Micros(check.duration_us))
    }),
    Family::counter("weir_server_check_failures", "Active checks that failed.", |s| whole(s.check_failures)),
    Family::counter("weir_server_downs", "How often the server went down.", |s| whole(s.times_down)),
    Family::counter("weir_server_ejections", "How often real traffic ejected the server.", |s| {
        whole(s.ejections)
    }),
    Family::counter("weir_server_downtime_seconds", "How long the server was down.", |s| {
        Some(Value::Millis(s.downtime_ms))
    }),
];

const HISTOGRAMS: &[Histograms<ServerSnapshot>] = &[
    Histograms {
        name: "weir_server_connect_seconds",
        help: "From the start of a connect to its end, TLS included.",
        value: |s| &s.traffic.connect,
    },
    Histograms {
        name: "weir_server_first_byte_seconds",
        help: "From the request's last byte to the response's first.",
        value: |s| &s.traffic.first_byte,
    },
    Histograms {
        name: "weir_server_total_seconds",
        help: "From the choice of the server to the response's last byte.",
        value: |s| &s.traffic.total,
    },
];

pub(super) fn write(text: &mut Text, pools: &[PoolSnapshot]) {
    let things: Vec<_> = pools
        .iter()
        .flat_map(|pool| pool.servers.iter().map(|server| (name(pool, server), server)))
        .collect();
    for family in FAMILIES {
        family.write(text, &things);
    }
    text.family("weir_server_state", Kind::Gauge, "1 for the state that the server is in, 0 for the others.");
    for (labels, server) in &things {
        let current = server.state().name();
        for state in ServerState::NAMES {
            let value = Value::Whole((state == current).into());
            text.sample("weir_server_state", Kind::Gauge, &labels.with("state", state), value);
        }
    }
    text.family("weir_server_connections", Kind::Gauge, "Connections to the server, by what they do.");
    for (labels, server) in &things {
        for (state, count) in [("idle", server.connections_idle), ("used", server.connections_used)] {
            let labels = labels.with("state", state);
            text.sample("weir_server_connections", Kind::Gauge, &labels, Value::Whole(count));
        }
    }
    responses(text, "weir_server_responses", "Responses of the server, by class of status.", &things, |s| {
        &s.traffic.responses
    });
    for histograms in HISTOGRAMS {
        histograms.write(text, &things);
    }
}

fn name(pool: &PoolSnapshot, server: &ServerSnapshot) -> Labels {
    Labels::of(&[("pool", &pool.name), ("server", &server.name)])
}
