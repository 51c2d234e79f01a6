//! Writes the heads of services' responses.

use weir_http::{
    Exchange as Names, Framing, ResponseContext, ResponseTo, append_content_length, append_line,
    append_status_line, parse_response,
};
use weir_net::service::{Answer, Value};

use crate::http::connection::{ClientTlsFacts, Connection};
use crate::http::exchange::Offloaded;
use crate::http::request::RequestFacts;
use crate::http::response::LIMITS;
use crate::sticky::Bond;

/// Framing that a written head announces.
pub(super) struct Said {
    /// True if the connection stays open.
    pub(super) keep_alive: bool,
    /// True if the body is chunked.
    pub(super) chunked: bool,
    /// True if no body follows, even if the response has one.
    pub(super) is_bodiless: bool,
}

/// Appends the head of `answer` to `out`. It is processed like a server's head, so that the rules of the
/// listener and of the route apply. Returns `None` if the head would be invalid.
pub(super) fn write(
    out: &mut Vec<u8>,
    connection: &Connection,
    facts: &RequestFacts,
    answer: &Answer,
    keep_alive: bool,
    offloaded: Option<&Offloaded>,
) -> Option<Said> {
    let worker = &connection.worker;
    let tls = connection.tls.as_deref().map(ClientTlsFacts::names);
    let http = &connection.listener.http;
    let route = http.routes.get(facts.route)?;
    let pool = offloaded.map_or("", |it| it.pool.shared.plan.name.as_str());
    let server = offloaded.and_then(|it| it.server.as_ref()).map(|server| &server.name);
    let names = connection.names(facts.asker(), route.plan.name.as_str(), pool, tls.as_ref());
    let context = ResponseContext {
        exchange: Names { server, ..names },
        request: facts.text(),
        server_scheme: offloaded.map_or(http.forwarder.scheme(), |it| it.scheme),
        client_version: facts.version,
        date: &worker.http_date(),
        keep_alive,
        cookie: offloaded.and_then(|it| it.bond.as_deref()).and_then(Bond::edit),
        // The lines from a server in this head have already been filtered.
        from_server: false,
    };
    if let Some(length) = answer.content.length() {
        let (status, lines) = (answer.status, lines(answer));
        let written = http.forwarder.write_own(out, status, lines, length, &route.rewriter, &context);
        if let Some(written) = written {
            let is_bodiless = facts.is_head || matches!(status, 204 | 304);
            return Some(Said { keep_alive: written.keep_alive, chunked: false, is_bodiless });
        }
    }
    let mut raw = worker.buffers.take();
    compose(&mut raw, answer);
    let mut table = worker.headers.borrow_mut();
    let to = ResponseTo { is_head: facts.is_head, ..ResponseTo::default() };
    let parsed = parse_response(&raw, to, &LIMITS, &mut table).ok().flatten();
    let Some(head) = parsed.filter(|head| !head.is_interim() && head.status != 101) else {
        worker.buffers.give(raw);
        return None;
    };
    let written = http.forwarder.write_response(out, &raw, &head, &table, &route.rewriter, &context);
    let said = Said {
        keep_alive: written.keep_alive,
        chunked: head.framing == Framing::Chunked && !written.dechunk,
        is_bodiless: facts.is_head || matches!(head.status, 204 | 304),
    };
    worker.buffers.give(raw);
    Some(said)
}

/// Iterates over the header lines of a response. Skips lines with control characters in the value.
fn lines(answer: &Answer) -> impl Iterator<Item = (&'static str, &[u8])> {
    let is_control = |byte: u8| (byte < b' ' && byte != b'\t') || byte == 0x7f;
    // Examines all bytes even after a match, so that the compiler can vectorise the loop.
    let is_text = move |value: &Value| !value.iter().fold(false, |any, byte| any | is_control(*byte));
    let lines = answer.headers.iter().filter(move |(_, value)| is_text(value));
    lines.map(|(name, value)| (*name, &**value))
}

/// Writes the head as a server would.
fn compose(raw: &mut Vec<u8>, answer: &Answer) {
    append_status_line(raw, answer.status);
    lines(answer).for_each(|(name, value)| append_line(raw, name, value));
    match answer.content.length() {
        _ if matches!(answer.status, 204 | 304) => {}
        Some(length) => append_content_length(raw, length),
        None => raw.extend_from_slice(b"Transfer-Encoding: chunked\r\n"),
    }
    raw.extend_from_slice(b"\r\n");
}
