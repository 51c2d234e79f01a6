//! Responses that Weir gives itself: errors, redirects and fixed responses.

use std::borrow::Cow;
use std::io;
use std::task::{Context, Poll};
use std::time::Instant;

use weir_http::access_log::Termination;
use weir_http::{
    Action, Answer as Message, FixedResponse, HeaderTable, Method, RefusalRule, RequestHead, RequestText,
    ResponseContext, ResponseTo, Version, append_trace, parse_response,
};

use super::answered::Line;
use super::connection::{ClientTlsFacts, Connection};
use super::exchange::Exchange;
use super::outcome::Fault;
use super::request::{Asker, RequestFacts};
use super::response::LIMITS;
use super::timing::Timing;

/// The only error status that stands for a rule: the route limits the size of a body.
const BODY_TOO_LARGE: u16 = 413;

/// Known methods that Weir forwards. It forwards unknown ones too.
const PASSED: &[u8] =
    b"GET, HEAD, POST, PUT, DELETE, OPTIONS, PATCH, TRACE, PROPFIND, PROPPATCH, MKCOL, COPY, MOVE, LOCK, \
                        UNLOCK, REPORT, SEARCH";

/// A response of Weir in transit to the client.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    bytes: Vec<u8>,
    /// Size of the body in `bytes`.
    body_bytes: usize,
    sent: usize,
    /// True if the connection may carry another request.
    pub(crate) keep_alive: bool,
    /// True if the client may still be sending; the connection must not be reset before the client has read
    /// the response.
    pub(crate) linger: bool,
    /// True if a rule refused the request.
    pub(super) denied: bool,
    /// Rule that refused the request, if it was refused.
    pub(crate) refused_by: Option<RefusalRule>,
    /// Time at which the head of the request was complete; `None` = no request was read.
    pub(super) asked: Option<Instant>,
    /// Access log line to write once the response has been sent; `None` = no line.
    pub(super) line: Option<Line>,
}

/// A request that could not be parsed, or did not arrive in time.
#[derive(Debug)]
pub(crate) struct Unread {
    /// Id of the response; empty = none. An id from the client was not read.
    pub(crate) id: Box<str>,
    /// Number of bytes received.
    pub(crate) bytes_in: u64,
    pub(crate) timing: Timing,
}

impl Unread {
    /// Creates the record of `bytes` bytes received from `started` to `now`.
    pub(super) fn new(bytes: usize, now: Instant, started: Instant) -> Self {
        let timing = Timing::new(now, started);
        Self { id: Box::default(), bytes_in: bytes as u64, timing }
    }
}

/// Properties of the request that determine its response.
#[derive(Debug, Clone, Copy)]
struct To<'a> {
    keep_alive: bool,
    is_head: bool,
    is_http10: bool,
    /// Id of the request; empty = none.
    id: &'a str,
}

impl Answer {
    /// Creates and counts the response to bytes that could not be parsed as a request. The start of a next
    /// request is unknown, so the connection ends.
    pub(super) fn to_unread(connection: &Connection, status: u16, rule: RefusalRule, unread: Unread) -> Self {
        let counters = connection.listener.counters(&connection.worker);
        counters.request_errors.one();
        counters.bytes_in.add(unread.bytes_in);
        let id = connection.new_request_id();
        let to = To { keep_alive: false, is_head: false, is_http10: false, id: &id };
        let mut answer = Self::error(connection, status, to, &[]);
        answer.linger = true;
        answer.refused_by = Some(rule);
        answer.line = Some(Line::Unread(Box::new(Unread { id, ..unread })));
        answer
    }

    /// Creates an error response to a parsed request.
    pub(super) fn of_status(
        connection: &Connection,
        head: &RequestHead,
        status: u16,
        id: &str,
        keep_alive: bool,
    ) -> Self {
        let allow: &[(&str, &[u8])] = match status {
            405 => &[("Allow", b"GET, HEAD, POST, PUT, DELETE, OPTIONS, PATCH")],
            _ => &[],
        };
        let mut answer = Self::error(connection, status, To::request(head, id, keep_alive), allow);
        answer.denied = status == BODY_TOO_LARGE;
        answer.refused_by = answer.denied.then_some(RefusalRule::BodyTooLarge);
        answer
    }

    /// Creates the response to a parsed request that a rule refuses.
    pub(super) fn refused(
        connection: &Connection,
        head: &RequestHead,
        (status, rule): (u16, RefusalRule),
        id: &str,
        keep_alive: bool,
    ) -> Self {
        connection.listener.counters(&connection.worker).request_errors.one();
        let mut answer = Self::error(connection, status, To::request(head, id, keep_alive), &[]);
        answer.refused_by = Some(rule);
        answer
    }

    /// Creates the response to a TRACE or OPTIONS that must not be forwarded further (RFC 9110 section
    /// 7.6.2).
    pub(super) fn of_last(
        connection: &Connection,
        buf: &[u8],
        head: &RequestHead,
        table: &HeaderTable,
        id: &str,
        keep_alive: bool,
    ) -> Self {
        let to = To::request(head, id, keep_alive);
        if head.method == Method::Options {
            return Self::page(connection, 200, to, &[("Allow", PASSED)], "", b"");
        }
        let mut seen = connection.worker.buffers.take();
        append_trace(&mut seen, buf, head, table);
        let answer = Self::page(connection, 200, to, &[], "message/http", &seen);
        connection.worker.buffers.give(seen);
        answer
    }

    /// Creates the response of a route with a redirect or a fixed response.
    pub(super) fn of_route(
        connection: &Connection,
        buf: &[u8],
        head: &RequestHead,
        index: usize,
        asker: Asker<'_>,
        keep_alive: bool,
    ) -> Self {
        let http = &connection.listener.http;
        let route = &http.routes[index];
        let to = To::request(head, asker.id, keep_alive);
        match &route.plan.action {
            Action::Respond(response) => {
                let status = response.status;
                let (content_type, body) = Self::body_of(connection, response);
                let message = Message { content_type, body, ..Message::new(status) };
                let mut answer = Self::ruled(connection, buf, head, index, asker, to, message);
                answer.denied = (400..500).contains(&status);
                answer
            }
            Action::Redirect(rule) => {
                let mut location = Vec::new();
                if let Some(template) = &route.location {
                    let text = RequestText::of(head, buf);
                    let tls = connection.tls.as_deref().map(ClientTlsFacts::names);
                    let names = connection.names(asker, route.plan.name.as_str(), "", tls.as_ref());
                    template.expand_location(&mut location, &names.variables(http.forwarder.scheme(), &text));
                }
                let message = Message { headers: &[("Location", &location)], ..Message::new(rule.status) };
                Self::ruled(connection, buf, head, index, asker, to, message)
            }
            Action::Pool(_) | Action::Storage(_) => Self::error(connection, 500, to, &[]),
        }
    }

    /// Applies the response rules of the route and of the listener to a route's own response, as to a
    /// server's.
    fn ruled(
        connection: &Connection,
        buf: &[u8],
        head: &RequestHead,
        index: usize,
        asker: Asker<'_>,
        to: To<'_>,
        message: Message<'_>,
    ) -> Self {
        let http = &connection.listener.http;
        let route = &http.routes[index];
        let message = Message {
            content_type: if message.body.is_empty() { "" } else { message.content_type },
            keep_alive: true,
            is_head: true,
            ..message
        };
        let mut raw = connection.worker.buffers.take();
        message.write(&mut raw);
        // Not the worker's table, which holds the request's lines.
        let mut table = HeaderTable::default();
        let parsed =
            parse_response(&raw, ResponseTo { is_head: true, ..ResponseTo::default() }, &LIMITS, &mut table);
        let Ok(Some(own)) = parsed else {
            connection.worker.buffers.give(raw);
            return Self::error(connection, 500, to, &[]);
        };
        let tls = connection.tls.as_deref().map(ClientTlsFacts::names);
        let context = ResponseContext {
            exchange: connection.names(asker, route.plan.name.as_str(), "", tls.as_ref()),
            request: RequestText::of(head, buf),
            server_scheme: http.forwarder.scheme(),
            client_version: head.version,
            date: &connection.worker.http_date(),
            keep_alive: to.keep_alive,
            cookie: None,
            from_server: false,
        };
        let mut bytes = connection.worker.buffers.take();
        let written =
            http.forwarder.write_response(&mut bytes, &raw, &own, &table, &route.rewriter, &context);
        connection.worker.buffers.give(raw);
        let to = To { keep_alive: written.keep_alive, ..to };
        let bodiless = to.is_head || matches!(message.status, 204 | 304);
        let body = if bodiless { &[] } else { message.body };
        bytes.extend_from_slice(body);
        Self::of_bytes(connection, message.status, to, bytes, body.len())
    }

    /// Creates the redirect of a client to a server.
    pub(super) fn elsewhere(
        connection: &Connection,
        head: &RequestHead,
        location: &[u8],
        id: &str,
        keep_alive: bool,
    ) -> Self {
        let headers: [(&str, &[u8]); 2] = [("Location", location), ("Cache-Control", b"no-store")];
        Self::page(connection, 307, To::request(head, id, keep_alive), &headers, "", b"")
    }

    /// Creates the response to a failed exchange.
    pub(super) fn fault(connection: &Connection, exchange: &Exchange, fault: &Fault) -> Self {
        let request = &exchange.request;
        let unread = !exchange.upload.is_read() || exchange.leaves_body();
        let to = To {
            keep_alive: request.keep_alive && !unread,
            is_head: request.is_head,
            is_http10: request.version == Version::Http10,
            id: &request.id,
        };
        let status = fault.status();
        let nobody_left = &exchange.pool.shared.plan.nobody_left;
        let retry_after_s = fault.retry_after_s().unwrap_or(nobody_left.retry_after_s);
        let retry_after = retry_after_s.to_string();
        let headers: &[(&str, &[u8])] = match (status, retry_after_s) {
            (503, seconds) if seconds > 0 => &[("Retry-After", retry_after.as_bytes())],
            _ => &[],
        };
        let mut answer = match (&nobody_left.response, fault) {
            (Some(response), Fault::NobodyLeft) => {
                let (content_type, body) = Self::body_of(connection, response);
                Self::page(connection, response.status, to, headers, content_type, body)
            }
            _ => Self::error(connection, status, to, headers),
        };
        answer.linger = unread;
        answer.denied = status == BODY_TOO_LARGE;
        answer.refused_by = fault.refused_by();
        answer
    }

    /// Creates the response to a request that its service did not answer.
    pub(super) fn in_place_of_service(connection: &Connection, facts: &RequestFacts, fault: &Fault) -> Self {
        let is_http10 = facts.version == Version::Http10;
        let to = To { keep_alive: false, is_head: facts.is_head, is_http10, id: &facts.id };
        let mut answer = Self::error(connection, fault.status(), to, &[]);
        answer.linger = true;
        answer.denied = fault.status() == BODY_TOO_LARGE;
        answer.refused_by = fault.refused_by();
        answer
    }

    /// Returns the content type and body of a configured response. If it has no body, uses the error page for
    /// its status, if there is one.
    fn body_of<'a>(connection: &'a Connection, response: &'a FixedResponse) -> (&'a str, &'a [u8]) {
        let page = connection.live.shared.error_pages.get(&response.status);
        match page.filter(|_| response.body.is_empty()) {
            Some(page) => (&page.content_type, page.body.as_bytes()),
            None => (&response.content_type, response.body.as_bytes()),
        }
    }

    fn error(connection: &Connection, status: u16, to: To<'_>, headers: &[(&str, &[u8])]) -> Self {
        match connection.live.shared.error_pages.get(&status) {
            Some(page) => {
                Self::page(connection, status, to, headers, &page.content_type, page.body.as_bytes())
            }
            None => {
                let body = format!("{status} {}\n", weir_http::reason(status));
                Self::page(connection, status, to, headers, "text/plain; charset=utf-8", body.as_bytes())
            }
        }
    }

    fn page(
        connection: &Connection,
        status: u16,
        to: To<'_>,
        headers: &[(&str, &[u8])],
        content_type: &str,
        body: &[u8],
    ) -> Self {
        let mut headers = Cow::Borrowed(headers);
        if let (Some(name), false) =
            (connection.listener.http.forwarder.request_id_header(), to.id.is_empty())
        {
            headers.to_mut().push((name, to.id.as_bytes()));
        }
        let mut bytes = connection.worker.buffers.take();
        let message = Message {
            content_type: if body.is_empty() { "" } else { content_type },
            body,
            headers: &headers,
            keep_alive: to.keep_alive,
            is_head: to.is_head,
            is_http10: to.is_http10,
            date: &connection.worker.http_date(),
            ..Message::new(status)
        };
        message.write(&mut bytes);
        let bodiless = to.is_head || matches!(status, 204 | 304);
        Self::of_bytes(connection, status, to, bytes, if bodiless { 0 } else { body.len() })
    }

    fn of_bytes(connection: &Connection, status: u16, to: To<'_>, bytes: Vec<u8>, body_bytes: usize) -> Self {
        connection.deadline.arm(Instant::now(), connection.listener.timeouts().body.duration());
        let keep_alive = to.keep_alive;
        Self {
            status,
            bytes,
            body_bytes,
            sent: 0,
            keep_alive,
            linger: false,
            denied: false,
            refused_by: None,
            asked: None,
            line: None,
        }
    }

    /// Returns the termination code for the access log, unless a server should have answered.
    pub(crate) fn termination(&self) -> Termination {
        if self.denied || self.refused_by.is_some() {
            Termination::BAD_REQUEST
        } else {
            Termination::ANSWERED
        }
    }

    /// Returns the size of the body.
    pub(crate) fn body_bytes(&self) -> usize {
        self.body_bytes
    }

    /// Returns the number of bytes sent.
    pub(crate) fn bytes_sent(&self) -> usize {
        self.sent
    }

    /// Returns the number of body bytes sent.
    pub(crate) fn body_bytes_sent(&self) -> usize {
        match self.bytes.len() {
            // Everything was sent: the buffer was returned.
            0 => self.body_bytes,
            total => self.sent.saturating_sub(total.saturating_sub(self.body_bytes)),
        }
    }

    /// Becomes ready when everything was written.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>, connection: &mut Connection) -> Poll<io::Result<()>> {
        while self.sent < self.bytes.len() {
            match connection.stream.poll_write(cx, &self.bytes[self.sent..]) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Poll::Ready(Ok(written)) => self.sent += written,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => return pending_or_late(cx, connection),
            }
        }
        match connection.stream.poll_flush(cx) {
            Poll::Pending => pending_or_late(cx, connection),
            Poll::Ready(flushed) => {
                connection.worker.buffers.give(std::mem::take(&mut self.bytes));
                self.sent = self.sent.max(1);
                Poll::Ready(flushed)
            }
        }
    }
}

impl<'a> To<'a> {
    fn request(head: &RequestHead, id: &'a str, keep_alive: bool) -> Self {
        Self {
            keep_alive,
            is_head: head.method == Method::Head,
            is_http10: head.version == Version::Http10,
            id,
        }
    }
}

fn pending_or_late(cx: &Context<'_>, connection: &Connection) -> Poll<io::Result<()>> {
    if connection.deadline.poll_expired(cx) || connection.gives_way() {
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    } else {
        Poll::Pending
    }
}
