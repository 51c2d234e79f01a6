//! The listeners on the status page.

use weir_control::{ListenerSnapshot, Protocol};

use super::html::{Html, esc};
use super::parts;

const COLUMNS: [(&str, &str); 16] = [
    ("Listener", "Its name, what it speaks, and where it accepts"),
    ("State", "Whether it accepts"),
    ("Connections", "Open now, of those permitted"),
    ("Accepted", "Connections since the start"),
    ("Denied", "Connections closed at once because of a limit"),
    ("Rate", "Requests in the last second"),
    ("p50", "Half of all requests took at most this long"),
    ("p99", "99 of 100 requests took at most this long"),
    ("Requests", "Requests since the start"),
    ("2xx", "Responses"),
    ("3xx", "Responses"),
    ("4xx", "Responses"),
    ("5xx", "Responses"),
    ("Bad", "Requests that could not be understood, or did not come in time"),
    ("Left", "Clients that went away before the end"),
    ("In, out", "Bytes from clients and to clients"),
];

pub(super) fn section(page: &mut Html, listeners: &[&ListenerSnapshot]) {
    page.add(format_args!("<section><h2>Listeners</h2>\n"));
    parts::open_table(page, 2, &COLUMNS);
    for listener in listeners {
        row(page, listener);
    }
    parts::close_table(page);
    page.add(format_args!("</section>\n"));
}

fn row(page: &mut Html, listener: &ListenerSnapshot) {
    page.add(format_args!("<tr><th scope=\"row\">{}", esc(&listener.name)));
    parts::tag(page, listener.protocol.name(), "protocol");
    if listener.tls {
        let counts = &listener.tls_handshakes;
        let more =
            format!("{} handshakes, {} resumed, {} failed", counts.completed, counts.resumed, counts.failed);
        parts::tag(page, "tls", &more);
    }
    parts::address(page, &listener.bind.join(", "));
    page.add(format_args!("</th><td class=\"text\">"));
    parts::badge(page, listener.status.tone(), listener.status.name());
    page.add(format_args!("</td>"));
    parts::level(page, listener.connections);
    parts::number(page, listener.connections_total);
    parts::fault(page, listener.connections_denied);
    parts::rate(page, listener.request_rate);
    parts::latency(page, &listener.duration);
    parts::number(page, listener.requests_total);
    match listener.protocol {
        Protocol::Http => parts::responses(page, &listener.responses),
        Protocol::Tcp => parts::none(page, 4),
    }
    parts::number(page, listener.request_errors);
    parts::number(page, listener.client_aborts);
    parts::bytes(page, listener.request_bytes, listener.response_bytes);
    page.add(format_args!("</tr>\n"));
}
