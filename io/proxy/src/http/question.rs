//! Writes the heads that go to servers: of requests, and of subrequests about uploads whose body stays in
//! this process.

use std::io::Write;
use std::rc::Rc;

use weir_http::{Framing, HeaderTable, KnownHeader, Method, RequestContext, RequestHead, Scheme};
use weir_net::service::TakenUpload;

use super::connection::{ClientTlsFacts, Connection};
use super::exchange::PendingUpload;
use super::request::Asker;
use super::request_id;
use crate::sticky::request_edit;
use crate::worker::LocalPool;

/// A head in its buffer.
type Head<'a> = (&'a [u8], &'a RequestHead, &'a HeaderTable);

/// Target and origin of a subrequest.
pub(super) struct Asked<'a> {
    pub(super) pool: Rc<LocalPool>,
    pub(super) route: usize,
    pub(super) asker: Asker<'a>,
}

/// Returns the upload of this request, if the pool's servers are only asked about uploads. A partial upload
/// (a range or a part of a resumable upload) is forwarded instead, because only its server knows the rest.
pub(super) fn pending(
    connection: &Connection,
    pool: &LocalPool,
    (buf, head, table): Head<'_>,
) -> Option<PendingUpload> {
    let asks = pool.shared.plan.offload.as_ref().is_some_and(|offload| offload.uploads);
    if !asks || head.method != Method::Put {
        return None;
    }
    let is_part = table.has(KnownHeader::ContentRange)
        || [b"upload-complete".as_slice(), b"upload-offset"]
            .into_iter()
            .any(|name| table.named(buf, name).next().is_some());
    if is_part {
        return None;
    }
    let worker = &connection.worker;
    Some(PendingUpload {
        framing: head.framing,
        expects_continue: head.expect_continue,
        keep_alive: false,
        id: request_id::of([worker.random(), worker.random()]).into(),
    })
}

/// Writes the head of the subrequest before an upload.
pub(super) fn before(
    connection: &Connection,
    request: Head<'_>,
    asked: &Asked<'_>,
    pending: &PendingUpload,
) -> Vec<u8> {
    let mut out = head(connection, request, &asked.pool, (asked.route, asked.asker), BodyIs::Kept);
    append(&mut out, |out| {
        write!(out, "X-Weir-Upload: begin\r\nX-Weir-Upload-Id: {}\r\n", pending.id)?;
        match pending.framing {
            Framing::Length(length) => write!(out, "X-Weir-Upload-Length: {length}\r\n"),
            Framing::None => write!(out, "X-Weir-Upload-Length: 0\r\n"),
            Framing::Chunked | Framing::UntilClose => Ok(()),
        }
    });
    out
}

/// Writes the head of the subrequest after an upload. `target`: the path of the upload, as the server named
/// it.
pub(super) fn after(
    connection: &Connection,
    request: Head<'_>,
    asked: &Asked<'_>,
    (id, target, taken): (&str, &[u8], &TakenUpload),
) -> Vec<u8> {
    let mut out = head(connection, request, &asked.pool, (asked.route, asked.asker), BodyIs::Kept);
    append(&mut out, |out| {
        write!(out, "X-Weir-Upload: complete\r\nX-Weir-Upload-Id: {id}\r\n")?;
        write!(out, "X-Weir-Upload-Size: {}\r\nX-Weir-Upload-Target: ", taken.size)?;
        out.extend_from_slice(target);
        out.extend_from_slice(b"\r\n");
        match taken.digests.as_str() {
            "" => Ok(()),
            digests => write!(out, "X-Weir-Upload-Digest: {digests}\r\n"),
        }
    });
    out
}

/// Adds lines to a complete head, before its final empty line.
fn append(out: &mut Vec<u8>, lines: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) {
    out.truncate(out.len().saturating_sub(2));
    // Writing to a vector does not fail.
    let _ = lines(out);
    out.extend_from_slice(b"\r\n");
}

/// Handling of a request's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyIs {
    /// The body is forwarded as it arrives.
    PassedOn,
    /// The body is received completely first, so the server need not ask the client for it.
    Collected,
    /// The body stays in this process; the head has no framing fields.
    Kept,
}

/// Writes the head of a request as its server gets it.
pub(super) fn head(
    connection: &Connection,
    (buf, head, table): Head<'_>,
    pool: &LocalPool,
    (route, asker): (usize, Asker<'_>),
    body: BodyIs,
) -> Vec<u8> {
    let http = &connection.listener.http;
    let route = &http.routes[route];
    // RFC 9112 section 3.3: without Host, the address that the client has connected to is the host.
    let default_host = match head.host {
        Some(_) => String::new(),
        None => connection.own_address().map(|address| address.to_string()).unwrap_or_default(),
    };
    let tls = connection.tls.as_deref().map(ClientTlsFacts::names);
    let plan = &pool.shared.plan;
    let context = RequestContext {
        exchange: connection.names(asker, route.plan.name.as_str(), plan.name.as_str(), tls.as_ref()),
        server_scheme: if plan.tls.is_some() { Scheme::Https } else { Scheme::Http },
        default_host: &default_host,
        upgrade: head.upgrade.is_some() && body != BodyIs::Kept,
        pass_expect: body == BodyIs::PassedOn,
        close: plan.reuse.idle_max == 0 || plan.proxy_protocol.is_some(),
        cookie: request_edit(plan),
    };
    let mut out = connection.worker.buffers.take();
    match body {
        BodyIs::Kept => http.forwarder.write_question(&mut out, buf, head, table, &route.rewriter, &context),
        BodyIs::PassedOn | BodyIs::Collected => {
            http.forwarder.write_request(&mut out, buf, head, table, &route.rewriter, &context)
        }
    }
    out
}
