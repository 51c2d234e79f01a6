//! Metrics of pools.

use weir_control::{BreakerStatus, PoolSnapshot, PoolStatus, ServerState};

use super::family::{Family, Histograms, responses, whole};
use super::text::{Kind, Labels, Text, Value};

const FAMILIES: &[Family<PoolSnapshot>] = &[
    Family::gauge("weir_pool_up", "1 if at least one server (a backup included) takes requests.", |p| {
        whole((p.status() != PoolStatus::Down).into())
    }),
    Family::gauge("weir_pool_active_requests", "Requests (TCP: connections) in flight.", |p| {
        whole(p.traffic.active.current)
    }),
    Family::gauge("weir_pool_queue_length", "Requests that wait for a server now.", |p| {
        whole(p.queue.current)
    }),
    Family::gauge("weir_pool_queue_length_max", "Requests that waited for a server at once, at most.", |p| {
        whole(p.queue.max)
    }),
    Family::gauge("weir_pool_queue_limit", "Requests that may wait for a server at once.", |p| {
        p.queue.limit.map(Value::Whole)
    }),
    Family::gauge(
        "weir_pool_queue_longest_wait_seconds",
        "How long the request has been waiting that waits longest.",
        |p| Some(Value::Millis(p.queue_longest_ms)),
    ),
    Family::counter(
        "weir_pool_queue_full",
        "Requests that were refused because as many waited as may.",
        |p| whole(p.queue_full),
    ),
    Family::counter(
        "weir_pool_queue_hopeless",
        "Requests that were refused at once because they would have waited too long.",
        |p| whole(p.queue_hopeless),
    ),
    Family::counter("weir_pool_queued", "Requests that had to wait for a server.", |p| whole(p.queued_total)),
    Family::counter(
        "weir_pool_requests",
        "Requests (TCP: connections) that came to the pool, each once, however often it was tried.",
        |p| whole(p.traffic.requests_total),
    ),
    Family::counter(
        "weir_pool_tries",
        "Times that a server was chosen: one for each try of a request.",
        |p| whole(p.traffic.tries_total),
    ),
    Family::counter("weir_pool_retries", "Further tries after the first.", |p| whole(p.traffic.retries)),
    Family::counter("weir_pool_redispatches", "Further tries that went to another server.", |p| {
        whole(p.traffic.redispatches)
    }),
    Family::counter("weir_pool_retries_denied", "Retries that the budget did not permit.", |p| {
        whole(p.retries_denied)
    }),
    Family::counter(
        "weir_pool_sent_on",
        "Requests that were answered with a redirect to a server, past this process.",
        |p| whole(p.sent_on),
    ),
    Family::counter("weir_pool_hedges", "Second tries beside a slow first one.", |p| whole(p.hedges)),
    Family::counter("weir_pool_hedges_won", "Second tries whose response was passed on.", |p| {
        whole(p.hedges_won)
    }),
    Family::counter(
        "weir_pool_offloads",
        "Responses in whose place a file was sent that the server named, and uploads stored for it.",
        |p| whole(p.offloads),
    ),
    Family::counter(
        "weir_pool_offloads_failed",
        "Responses that named a file which could not be sent, or a place where no upload could be stored.",
        |p| whole(p.offloads_failed),
    ),
    Family::gauge("weir_pool_breaker", "0 = closed, 1 = half open, 2 = open.", |p| {
        let state = p.breaker?.state;
        whole(match state {
            BreakerStatus::Closed => 0,
            BreakerStatus::HalfOpen => 1,
            BreakerStatus::Open => 2,
        })
    }),
    Family::counter("weir_pool_breaker_opened", "How often the pool's breaker opened.", |p| {
        whole(p.breaker?.opened)
    }),
    Family::counter("weir_pool_breaker_refused", "Requests that the pool's breaker refused.", |p| {
        whole(p.breaker?.refused)
    }),
    Family::counter("weir_pool_nobody_left", "Requests for which no server was left.", |p| {
        whole(p.nobody_left)
    }),
    Family::counter(
        "weir_pool_busy",
        "Requests that were refused because every server was at its limit: at once, or after they had waited.",
        |p| whole(p.busy),
    ),
    Family::counter("weir_pool_sticky_hits", "Requests that went to the server they were bound to.", |p| {
        whole(p.sticky.as_ref()?.hits)
    }),
    Family::counter(
        "weir_pool_sticky_misses",
        "Requests that were bound to no server, or to one that nobody knows.",
        |p| whole(p.sticky.as_ref()?.misses),
    ),
    Family::counter(
        "weir_pool_sticky_redispatches",
        "Requests that could not have the server they were bound to, and got another.",
        |p| whole(p.sticky.as_ref()?.redispatches),
    ),
    Family::gauge("weir_pool_sticky_entries", "Clients whose server is remembered.", |p| {
        whole(p.sticky.as_ref()?.table?.entries)
    }),
    Family::gauge("weir_pool_sticky_entries_limit", "Clients whose server can be remembered.", |p| {
        whole(p.sticky.as_ref()?.table?.entries_max)
    }),
    Family::counter(
        "weir_pool_sticky_expired",
        "Clients forgotten because they were not seen for long.",
        |p| whole(p.sticky.as_ref()?.table?.expired),
    ),
    Family::counter("weir_pool_sticky_evicted", "Clients forgotten for lack of room.", |p| {
        whole(p.sticky.as_ref()?.table?.evicted)
    }),
    Family::counter("weir_pool_connect_errors", "Connections to servers that could not be opened.", |p| {
        whole(p.traffic.connect_errors)
    }),
    Family::counter("weir_pool_response_errors", "Responses that did not come, or came broken.", |p| {
        whole(p.traffic.response_errors)
    }),
    Family::counter(
        "weir_pool_server_aborts",
        "Responses that a server broke off, or let stall, after they had begun.",
        |p| whole(p.traffic.server_aborts),
    ),
    Family::counter("weir_pool_request_bytes", "Bytes from clients, sent to servers.", |p| {
        whole(p.traffic.request_bytes)
    }),
    Family::counter("weir_pool_response_bytes", "Bytes from servers, for clients.", |p| {
        whole(p.traffic.response_bytes)
    }),
    Family::counter("weir_pool_downs", "How often the pool became unusable.", |p| whole(p.times_down)),
    Family::counter("weir_pool_downtime_seconds", "How long the pool was unusable.", |p| {
        Some(Value::Millis(p.downtime_ms))
    }),
];

const HISTOGRAMS: &[Histograms<PoolSnapshot>] = &[
    Histograms {
        name: "weir_pool_queue_seconds",
        help: "How long requests waited for a server.",
        value: |p| &p.queue_time,
    },
    Histograms {
        name: "weir_pool_total_seconds",
        help: "From the choice of the server to the response's last byte.",
        value: |p| &p.traffic.total,
    },
];

pub(super) fn write(text: &mut Text, pools: &[PoolSnapshot]) {
    let things: Vec<_> = pools.iter().map(|pool| (name(pool), pool)).collect();
    text.family("weir_pool_info", Kind::Gauge, "Always 1; how the pool chooses is a label.");
    for (labels, pool) in &things {
        let labels = labels.with("algorithm", &pool.algorithm);
        text.sample("weir_pool_info", Kind::Gauge, &labels, Value::Whole(1));
    }
    for family in FAMILIES {
        family.write(text, &things);
    }
    text.family("weir_pool_servers", Kind::Gauge, "Servers by state.");
    for (labels, pool) in &things {
        for state in ServerState::NAMES {
            let servers = pool.servers.iter().filter(|server| server.state().name() == state).count() as u64;
            text.sample(
                "weir_pool_servers",
                Kind::Gauge,
                &labels.with("state", state),
                Value::Whole(servers),
            );
        }
    }
    responses(text, "weir_pool_responses", "Responses of servers, by class of status.", &things, |p| {
        &p.traffic.responses
    });
    for histograms in HISTOGRAMS {
        histograms.write(text, &things);
    }
}

fn name(pool: &PoolSnapshot) -> Labels {
    Labels::of(&[("pool", &pool.name)])
}
