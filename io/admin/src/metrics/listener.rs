//! Metrics of listeners.

use weir_control::{ListenerSnapshot, ListenerStatus, Protocol};

use super::family::{Family, Histograms, Labelled, responses, whole};
use super::text::{Kind, Labels, Text, Value};

const FAMILIES: &[Family<ListenerSnapshot>] = &[
    Family::gauge("weir_listener_up", "1 if the listener accepts connections.", |l| {
        whole((l.status == ListenerStatus::Open).into())
    }),
    Family::gauge("weir_listener_connections", "Client connections open now.", |l| {
        whole(l.connections.current)
    }),
    Family::gauge("weir_listener_connections_limit", "Client connections that may be open at once.", |l| {
        l.connections.limit.map(Value::Whole)
    }),
    Family::counter("weir_listener_connections_accepted", "Client connections accepted.", |l| {
        whole(l.connections_total)
    }),
    Family::counter(
        "weir_listener_connections_denied",
        "Client connections closed at once because of a limit.",
        |l| whole(l.connections_denied),
    ),
    Family::counter("weir_listener_requests", "Requests (TCP: connections) read.", |l| {
        whole(l.requests_total)
    }),
    Family::counter(
        "weir_listener_requests_denied",
        "Requests that a rule refused: a fixed response with 4xx, or a body larger than its route permits.",
        |l| whole(l.requests_denied),
    ),
    Family::counter(
        "weir_listener_request_errors",
        "Requests that could not be understood, or did not come in time.",
        |l| whole(l.request_errors),
    ),
    Family::counter(
        "weir_listener_intercepted",
        "Requests that Weir answered without asking a server.",
        |l| whole(l.intercepted),
    ),
    Family::counter("weir_listener_client_aborts", "Clients that went away before the end.", |l| {
        whole(l.client_aborts)
    }),
    Family::counter("weir_listener_request_bytes", "Bytes from clients.", |l| whole(l.request_bytes)),
    Family::counter("weir_listener_response_bytes", "Bytes to clients.", |l| whole(l.response_bytes)),
];

const DURATION: Histograms<ListenerSnapshot> = Histograms {
    name: "weir_listener_request_duration_seconds",
    help: "From the end of the request's head to the response's last byte.",
    value: |l| &l.duration,
};

pub(super) fn write(text: &mut Text, listeners: &[ListenerSnapshot]) {
    let labelled = |listener| -> Labelled<'_, ListenerSnapshot> { (name(listener), listener) };
    let things: Vec<_> = listeners.iter().map(labelled).collect();
    for family in FAMILIES {
        family.write(text, &things);
    }
    responses(text, "weir_listener_responses", "Responses to clients, by class of status.", &things, |l| {
        &l.responses
    });
    let own = "Answers of Weir's own, those in a failed server's place included, by class of status.";
    responses(text, "weir_listener_answered", own, &things, |l| &l.answered);
    let refused = "weir_listener_refused";
    let help = "Requests, and connections before their first one, refused for what was wrong with them, by the rules that the \
                reference of the access log lists.";
    text.family(refused, Kind::Counter, help);
    for (labels, listener) in &things {
        for count in &listener.refused {
            let labels = labels.with("rule", &count.rule);
            text.sample(refused, Kind::Counter, &labels, Value::Whole(count.requests));
        }
    }
    let failures = "weir_listener_expression_failures";
    let help = "Requests for which the expression of a route (`when`) failed: the route denied the request, or was passed over.";
    text.family(failures, Kind::Counter, help);
    for (labels, listener) in things.iter().filter(|(_, listener)| listener.protocol == Protocol::Http) {
        let counts = &listener.expression_failures;
        for (result, count) in [("denied", counts.denied), ("passed-over", counts.passed_over)] {
            text.sample(failures, Kind::Counter, &labels.with("result", result), Value::Whole(count));
        }
    }
    let handshakes = "weir_listener_tls_handshakes";
    text.family(handshakes, Kind::Counter, "TLS handshakes with clients, by how they ended.");
    for (labels, listener) in things.iter().filter(|(_, listener)| listener.tls) {
        let counts = &listener.tls_handshakes;
        let full = counts.completed.saturating_sub(counts.resumed);
        for (result, count) in [("full", full), ("resumed", counts.resumed), ("failed", counts.failed)] {
            text.sample(handshakes, Kind::Counter, &labels.with("result", result), Value::Whole(count));
        }
    }
    DURATION.write(text, &things);
}

fn name(listener: &ListenerSnapshot) -> Labels {
    Labels::of(&[("listener", &listener.name)])
}
