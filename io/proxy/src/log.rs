//! Writes the access log records of connections and requests.

use std::borrow::Cow;
use std::net::SocketAddr;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use weir_access::redact::redact_url;
use weir_http::access_log::{
    AccessRecord, ActiveCounts, Client, RequestFields, Subject, Termination, Timings, TlsSession,
};
use weir_http::{Peer, RefusalRule, RequestHead, Version};

use crate::http::{
    Answer, AnsweredRequest, ClientTlsFacts, Connection, Exchange, Hedged, Offloaded, RequestCopy,
    RequestFacts, Timing, Unread,
};
use crate::state::{ListenerState, ModeState, OpenConnections, QueueAhead, ServerState};
use crate::worker::{LocalLive, Worker};

/// A connection that ended before there was a request, or in TCP mode before a pool was chosen.
pub(crate) struct EarlyRecord<'a> {
    pub(crate) listener: &'a ListenerState,
    pub(crate) client: Option<SocketAddr>,
    pub(crate) tls: Option<&'a ClientTlsFacts>,
    pub(crate) started: Instant,
    pub(crate) bytes_in: u64,
    pub(crate) termination: Termination,
    pub(crate) refused_by: Option<RefusalRule>,
}

/// Writes the line of a connection that ended early.
pub(crate) fn early(worker: &Worker, live: &LocalLive, early: &EarlyRecord<'_>) {
    let Some(log) = &live.log else { return };
    let base = connection(worker, early.listener, (early.client, early.tls), early.started);
    let (subject, head_us) = match early.listener.mode {
        ModeState::Http(_) => (Subject::BadRequest { request_id: None }, Some(base.timings.total_us)),
        ModeState::Tcp(_) => (Subject::Connection, None),
    };
    log.borrow_mut().append(&AccessRecord {
        subject,
        bytes_in: early.bytes_in,
        timings: Timings { head_us, ..base.timings },
        termination: early.termination,
        refused_by: early.refused_by,
        ..base
    });
}

/// A TCP connection that has ended.
pub(crate) struct TcpRecord<'a> {
    pub(crate) listener: &'a ListenerState,
    pub(crate) tls: Option<&'a ClientTlsFacts>,
    pub(crate) pool: &'a str,
    pub(crate) server: Option<&'a ServerState>,
    pub(crate) retries: u32,
    pub(crate) redispatched: bool,
    pub(crate) client: Option<SocketAddr>,
    pub(crate) started: Instant,
    pub(crate) queue_us: Option<u64>,
    pub(crate) queue_ahead: QueueAhead,
    pub(crate) connected_us: Option<u64>,
    pub(crate) bytes_in: u64,
    pub(crate) bytes_out: u64,
    pub(crate) termination: Termination,
}

/// Writes the line of a TCP connection.
pub(crate) fn tcp(worker: &Worker, live: &LocalLive, record: &TcpRecord<'_>) {
    let Some(log) = &live.log else { return };
    let address = record.server.map(ServerState::address);
    let base = connection(worker, record.listener, (record.client, record.tls), record.started);
    log.borrow_mut().append(&AccessRecord {
        bytes_in: record.bytes_in,
        bytes_out: record.bytes_out,
        body_bytes_out: record.bytes_out,
        pool: Some(record.pool),
        server: record.server.map(|server| server.name.as_str()),
        server_address: address.as_ref().map(|address| address.as_str()),
        timings: Timings { queue_us: record.queue_us, connect_us: record.connected_us, ..base.timings },
        retries: record.retries,
        redispatched: record.redispatched,
        termination: record.termination,
        active: active(worker, &record.listener.open, record.server, record.queue_ahead),
        ..base
    });
}

/// Builds the part that all lines about connections have in common.
fn connection<'a>(
    worker: &Worker,
    listener: &'a ListenerState,
    (client, facts): (Option<SocketAddr>, Option<&'a ClientTlsFacts>),
    started: Instant,
) -> AccessRecord<'a> {
    let total = started.elapsed();
    AccessRecord {
        start_unix_us: unix_us_ago(total),
        client: client.map_or(Client::Unix, Client::Inet),
        peer: None,
        subject: Subject::Connection,
        status: None,
        bytes_in: 0,
        bytes_out: 0,
        body_bytes_out: 0,
        listener: listener.plan.name.as_str(),
        route: None,
        pool: None,
        server: None,
        server_address: None,
        tls: facts.map(tls),
        timings: Timings { total_us: total.as_micros() as u64, ..Timings::default() },
        retries: 0,
        redispatched: false,
        hedge_won: None,
        offloaded: false,
        termination: Termination::NORMAL,
        refused_by: None,
        active: active(worker, &listener.open, None, QueueAhead::default()),
    }
}

/// Data that the client received from an exchange.
pub(crate) enum Given {
    /// The server's response, as far as it arrived.
    Response,
    /// A change of protocol. The numbers count the bytes from and to the client after it, including the head
    /// of the response.
    Tunnel { bytes_in: u64, bytes_out: u64 },
}

/// End of a request, for the log.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ended {
    pub(crate) termination: Termination,
    /// Rule that refused the request, if it was refused.
    pub(crate) refused_by: Option<RefusalRule>,
}

/// Writes the line of a request that was sent to a server, or was meant to be.
pub(crate) fn exchange(connection: &Connection, exchange: &Exchange, given: &Given, ended: Ended) {
    let Some(log) = &connection.live.log else { return };
    let taken = exchange.taken_bytes();
    let request =
        u64::from(exchange.request.head_bytes) + exchange.upload.bytes_read + taken.unwrap_or_default();
    let (bytes_in, bytes_out, body_bytes_out) = match given {
        Given::Response => (request, exchange.download_bytes(), exchange.download_read()),
        Given::Tunnel { bytes_in, bytes_out } => (request + bytes_in, *bytes_out, *bytes_out),
    };
    let server = exchange.lease().map(|lease| &*lease.server.shared);
    let address = server.map(ServerState::address);
    let copy = exchange.request.copy.as_deref();
    let urls = copy.map(Urls::of);
    let fields = copy.zip(urls.as_ref()).map(|(copy, urls)| fields(copy, urls, &exchange.request.id));
    let fields = fields.map_or(UNREAD, Subject::Request);
    let route = connection.listener.http.routes.get(exchange.request.route);
    log.borrow_mut().append(&AccessRecord {
        status: exchange.response.as_ref().map(|response| response.status),
        bytes_in,
        bytes_out,
        body_bytes_out,
        route: route.map(|route| route.plan.name.as_str()),
        pool: Some(exchange.pool.shared.plan.name.as_str()),
        server: server.map(|server| server.name.as_str()),
        server_address: address.as_ref().map(|address| address.as_str()),
        retries: u32::from(exchange.retries),
        redispatched: exchange.redispatched,
        hedge_won: hedge_won(exchange.hedged),
        offloaded: taken.is_some(),
        termination: ended.termination,
        refused_by: ended.refused_by,
        active: active(&connection.worker, &connection.listener.shared.open, server, exchange.queue_ahead),
        ..record(connection, exchange.request.client.as_deref(), &exchange.timing, fields)
    });
}

fn hedge_won(hedged: Hedged) -> Option<bool> {
    match hedged {
        Hedged::No => None,
        hedged => Some(hedged == Hedged::Won),
    }
}

/// Outcome of a request to a service.
pub(crate) struct ServiceRecord {
    /// Status of the response; `None` = the client got none.
    pub(crate) status: Option<u16>,
    /// Bytes sent, including the head.
    pub(crate) bytes_out: u64,
    pub(crate) body_bytes_out: u64,
    pub(crate) termination: Termination,
    /// Rule that refused the request, if it was refused.
    pub(crate) refused_by: Option<RefusalRule>,
}

/// Writes the line of a request to a service. `bytes_in` includes the head.
pub(crate) fn service(
    connection: &Connection,
    facts: &RequestFacts,
    timing: &Timing,
    bytes_in: u64,
    service: &ServiceRecord,
    offloaded: Option<&Offloaded>,
) {
    let Some(log) = &connection.live.log else { return };
    let copy = facts.copy.as_deref();
    let urls = copy.map(Urls::of);
    let fields = copy.zip(urls.as_ref()).map(|(copy, urls)| fields(copy, urls, &facts.id));
    let fields = fields.map_or(UNREAD, Subject::Request);
    let route = connection.listener.http.routes.get(facts.route);
    let server = offloaded.and_then(|it| it.server.as_deref());
    let address = server.map(ServerState::address);
    log.borrow_mut().append(&AccessRecord {
        status: service.status,
        bytes_in,
        bytes_out: service.bytes_out,
        body_bytes_out: service.body_bytes_out,
        route: route.map(|route| route.plan.name.as_str()),
        termination: service.termination,
        refused_by: service.refused_by,
        pool: offloaded.map(|it| it.pool.shared.plan.name.as_str()),
        server: server.map(|server| server.name.as_str()),
        server_address: address.as_ref().map(|address| address.as_str()),
        retries: offloaded.map_or(0, |it| it.retries.into()),
        redispatched: offloaded.is_some_and(|it| it.redispatched),
        hedge_won: offloaded.and_then(|it| hedge_won(it.hedged)),
        offloaded: offloaded.is_some(),
        active: active(
            &connection.worker,
            &connection.listener.shared.open,
            server,
            offloaded.map(|it| it.queue_ahead).unwrap_or_default(),
        ),
        ..record(connection, facts.client.as_deref(), timing, fields)
    });
}

/// Writes the line of a request that Weir answered itself, once the response has been sent as far as
/// possible.
pub(crate) fn answered(
    connection: &Connection,
    request: &AnsweredRequest,
    answer: &Answer,
    termination: Termination,
) {
    let Some(log) = &connection.live.log else { return };
    let copy = request.copy.as_deref();
    let urls = copy.map(Urls::of);
    let fields = copy.zip(urls.as_ref()).map(|(copy, urls)| fields(copy, urls, &request.id));
    let fields = fields.map_or(UNREAD, Subject::Request);
    let route = request.route.and_then(|route| connection.listener.http.routes.get(route));
    let tried = request.tried.as_ref();
    let server = tried.and_then(|tried| tried.server.as_deref());
    let address = server.map(ServerState::address);
    let ahead = tried.map(|tried| tried.queue_ahead).unwrap_or_default();
    let counts = active(&connection.worker, &connection.listener.shared.open, None, ahead);
    let at_server = tried.map_or(0, |tried| tried.active);
    let bytes_out = answer.bytes_sent() as u64;
    log.borrow_mut().append(&AccessRecord {
        status: (bytes_out > 0).then_some(answer.status),
        bytes_in: request.bytes_in,
        bytes_out,
        body_bytes_out: answer.body_bytes_sent() as u64,
        route: route.map(|route| route.plan.name.as_str()),
        pool: tried.map(|tried| tried.pool.plan.name.as_str()),
        server: server.map(|server| server.name.as_str()),
        server_address: address.as_ref().map(|address| address.as_str()),
        retries: tried.map_or(0, |tried| tried.retries.into()),
        redispatched: tried.is_some_and(|tried| tried.redispatched),
        hedge_won: tried.and_then(|tried| hedge_won(tried.hedged)),
        offloaded: tried.is_some_and(|tried| tried.offloaded),
        termination,
        refused_by: answer.refused_by,
        active: ActiveCounts { pool: at_server, server: at_server, ..counts },
        ..record(connection, request.client.as_deref(), &request.timing, fields)
    });
}

/// Writes the line of a request head that broke off after `bytes_in` bytes, because the client left or the
/// process stopped.
pub(crate) fn broken_off(connection: &Connection, bytes_in: u64, timing: &Timing, termination: Termination) {
    let Some(log) = &connection.live.log else { return };
    let subject = Subject::BadRequest { request_id: None };
    log.borrow_mut().append(&AccessRecord {
        bytes_in,
        termination,
        ..record(connection, None, timing, subject)
    });
}

/// Writes the line of a request that could not be parsed or did not arrive in time, once its response has
/// been sent as far as possible. The client is the peer, because no header that could name another client was
/// read.
pub(crate) fn unread(connection: &Connection, unread: &Unread, answer: &Answer) {
    let Some(log) = &connection.live.log else { return };
    let subject = Subject::BadRequest { request_id: some(unread.id.as_bytes()) };
    let bytes_out = answer.bytes_sent() as u64;
    log.borrow_mut().append(&AccessRecord {
        status: (bytes_out > 0).then_some(answer.status),
        bytes_in: unread.bytes_in,
        bytes_out,
        body_bytes_out: answer.body_bytes_sent() as u64,
        termination: match answer.refused_by {
            Some(RefusalRule::HeadTimeout) => Termination::REQUEST_TIMEOUT,
            _ => Termination::BAD_REQUEST,
        },
        refused_by: answer.refused_by,
        ..record(connection, None, &unread.timing, subject)
    });
}

/// Subject for a request without a kept copy; if there is a log, every request has one.
const UNREAD: Subject<'static> = Subject::BadRequest { request_id: None };

/// Builds the part that all lines of an HTTP connection have in common. `named`: the client, if a trusted
/// peer names it.
fn record<'a>(
    connection: &'a Connection,
    named: Option<&Peer>,
    timing: &Timing,
    subject: Subject<'a>,
) -> AccessRecord<'a> {
    let head = u64::from(timing.head_us);
    let total_us = head + u64::from(timing.elapsed(connection.worker.now()));
    AccessRecord {
        start_unix_us: unix_us_ago(Duration::from_micros(total_us)),
        client: address(named.unwrap_or(&connection.peer)).map_or(Client::Unix, Client::Inet),
        peer: named.and_then(|_| address(&connection.peer)),
        subject,
        status: None,
        bytes_in: 0,
        bytes_out: 0,
        body_bytes_out: 0,
        listener: connection.listener.name(),
        route: None,
        pool: None,
        server: None,
        server_address: None,
        tls: connection.tls.as_deref().map(tls),
        timings: Timings {
            head_us: Some(head),
            queue_us: timing.queue().map(u64::from),
            connect_us: timing.connect().map(u64::from),
            first_byte_us: timing.response().map(u64::from),
            total_us,
        },
        retries: 0,
        redispatched: false,
        hedge_won: None,
        offloaded: false,
        termination: Termination::NORMAL,
        refused_by: None,
        active: active(&connection.worker, &connection.listener.shared.open, None, QueueAhead::default()),
    }
}

/// URLs of a request, with the tokens in them redacted.
struct Urls<'a> {
    target: Cow<'a, [u8]>,
    referer: Cow<'a, [u8]>,
}

impl<'a> Urls<'a> {
    fn of(copy: &'a RequestCopy) -> Self {
        Self {
            target: without_tokens(
                copy.sent_target.as_deref().unwrap_or(copy.parsed.target.span.of(&copy.head)),
            ),
            referer: without_tokens(copy.referer.of(&copy.head)),
        }
    }
}

fn without_tokens(url: &[u8]) -> Cow<'_, [u8]> {
    match String::from_utf8_lossy(url) {
        Cow::Borrowed(text) => match redact_url(text) {
            Cow::Borrowed(_) => Cow::Borrowed(url),
            Cow::Owned(redacted) => Cow::Owned(redacted.into_bytes()),
        },
        Cow::Owned(text) => match redact_url(&text) {
            Cow::Borrowed(_) => Cow::Borrowed(url),
            Cow::Owned(redacted) => Cow::Owned(redacted.into_bytes()),
        },
    }
}

fn fields<'a>(copy: &'a RequestCopy, urls: &'a Urls<'a>, id: &'a str) -> RequestFields<'a> {
    let head: &RequestHead = &copy.parsed;
    let buf = copy.head.as_slice();
    RequestFields {
        method: head.method.bytes(buf),
        target: &urls.target,
        path: compared_path(copy),
        version: if head.version == Version::Http10 { b"HTTP/1.0" } else { b"HTTP/1.1" },
        host: head.host.map(|host| host.of(buf)),
        referer: some(&urls.referer),
        user_agent: some(copy.user_agent.of(buf)),
        request_id: some(id.as_bytes()),
    }
}

/// Returns the path that the rules matched, if it differs from the path that the client sent.
fn compared_path(copy: &RequestCopy) -> Option<&[u8]> {
    match (&copy.compared_path, &copy.sent_target) {
        (None, None) => None,
        (Some(compared), _) => Some(compared),
        (None, Some(_)) => Some(copy.parsed.target.path_or_root(&copy.head)),
    }
}

fn some(bytes: &[u8]) -> Option<&[u8]> {
    (!bytes.is_empty()).then_some(bytes)
}

fn address(peer: &Peer) -> Option<SocketAddr> {
    Some(SocketAddr::new(peer.ip()?, peer.port()))
}

fn tls(facts: &ClientTlsFacts) -> TlsSession<'_> {
    let version = match facts.version {
        "1.2" => "TLSv1.2",
        "1.3" => "TLSv1.3",
        other => other,
    };
    TlsSession { version, cipher: facts.cipher }
}

fn active(
    worker: &Worker,
    listener: &OpenConnections,
    server: Option<&ServerState>,
    ahead: QueueAhead,
) -> ActiveCounts {
    let server = server.map_or(0, |server| server.load.active());
    ActiveCounts {
        process: worker.shared.open.now(),
        listener: listener.now(),
        pool: server,
        server,
        server_queue: ahead.server,
        pool_queue: ahead.pool,
    }
}

fn unix_us_ago(span: Duration) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    now.saturating_sub(span).as_micros() as u64
}
