//! Requests in the form in which services see them.

use std::net::IpAddr;

use weir_http::{HeaderTable, Method, RequestHead, Scheme, Span, TargetForm, Version};
use weir_net::service::{ClientTls, HeaderLine, Request};

use super::body::Incoming;
use crate::http::connection::Connection;
use crate::http::request::RequestFacts;
use crate::http::timing::Timing;

/// A request for a service.
pub(crate) struct Call {
    /// The request as the service sees it.
    pub(super) request: Request,
    /// Facts for the response, the log and the connection.
    pub(super) facts: RequestFacts,
    pub(super) timing: Timing,
    /// Body of the request.
    pub(super) incoming: Incoming,
}

impl Call {
    /// Creates the call from a head in its buffer. The bytes after the head stay in the connection.
    pub(in crate::http) fn new(
        connection: &Connection,
        (buf, head, table): (&[u8], &RequestHead, &HeaderTable),
        facts: RequestFacts,
        timing: Timing,
        client: Option<IpAddr>,
    ) -> Self {
        let http = &connection.listener.http;
        let limit = http.routes.get(facts.route).and_then(|route| route.plan.body_bytes_max);
        let request = request_of(connection, (buf, head, table), &facts.id, client);
        Self { request, facts, timing, incoming: Incoming::new(head.framing, head.expect_continue, limit) }
    }

    /// Returns true if the request has no body, so that the service has nothing to read and no interim
    /// response to send.
    pub(super) fn is_read_without_body(&self) -> bool {
        matches!(self.facts.method, Method::Get | Method::Head) && self.incoming.length() == Some(0)
    }
}

/// Converts a head in its buffer to the form for services.
pub(super) fn request_of(
    connection: &Connection,
    (buf, head, table): (&[u8], &RequestHead, &HeaderTable),
    id: &str,
    client: Option<IpAddr>,
) -> Request {
    Request {
        head: buf[..head.head_bytes as usize].to_vec(),
        method: method(buf, head),
        path: match head.target.form {
            // An absolute form that ends with the authority has an empty path.
            TargetForm::Authority => 0..0,
            _ => range(head.target.path),
        },
        query: head.target.query.map(range),
        host: head.host.map(range),
        lines: table
            .entries()
            .iter()
            .map(|entry| HeaderLine { name: range(entry.name()), value: range(entry.value()) })
            .collect(),
        is_http10: head.version == Version::Http10,
        is_https: connection.listener.http.forwarder.scheme() == Scheme::Https,
        peer: connection.peer_address(),
        client,
        tls: connection.tls.as_deref().map(|tls| ClientTls {
            version: tls.version,
            cipher: tls.cipher,
            subject: tls.subject.clone(),
            issuer: tls.issuer.clone(),
            not_after_unix_secs: tls.not_after_unix_secs,
        }),
        id: id.to_owned(),
    }
}

/// Returns the position of the method at the start of the request line.
fn method(buf: &[u8], head: &RequestHead) -> std::ops::Range<usize> {
    let start = head.start as usize;
    start..start + head.method.bytes(buf).len()
}

fn range(span: Span) -> std::ops::Range<usize> {
    span.start as usize..span.end as usize
}
