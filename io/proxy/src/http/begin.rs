//! Parses a request and decides whether a server, a service or Weir itself answers it.

use std::net::IpAddr;
use std::rc::Rc;
use std::time::Instant;

use weir_balance::{Key, Rank, RequestClass};
use weir_config::plan::Priority;
use weir_http::{
    Action, BodyScanner, Framing, HeaderFault, HeaderTable, Method, NormalTarget, PathFault, Peer,
    RefusalRule, RequestError, RequestHead, RouteRequest, Scheme, TargetForm, parse_request,
};

use super::answer::{Answer, Unread};
use super::answered::{AnsweredRequest, Line};
use super::connection::Connection;
use super::exchange::{Exchange, Message, PendingUpload, Place, Question};
use super::question::{self, BodyIs};
use super::request::{Asker, PathSpelling, RequestCopy, RequestFacts};
use super::service::Call;
use super::timing::Timing;
use super::unwanted;
use crate::pump::Pump;
use crate::redirect::{Asked, Redirect};
use crate::sticky::{Bond, Request};
use crate::worker::{Drain, LocalPool};

/// Result of parsing the bytes read so far.
pub(crate) enum Begun {
    /// The head is incomplete.
    Incomplete,
    /// A server answers the request.
    Exchange(Box<Exchange>),
    /// Weir answers the request itself.
    Answer(Box<Answer>),
    /// A service of this process answers it.
    Call(Box<Call>),
}

/// A parsed request head in its buffer, with its client.
struct Parsed<'a> {
    buf: &'a [u8],
    head: &'a RequestHead,
    table: &'a HeaderTable,
    /// Bytes of the head as received.
    head_bytes: u32,
    spelling: PathSpelling<'a>,
    /// Reason why no rule can judge the path.
    fault: Option<PathFault>,
    /// [`NormalTarget::has_refused_backslash`]
    has_refused_backslash: bool,
    timing: &'a Timing,
    /// Address of the client.
    source: Option<IpAddr>,
    /// Client, if a trusted peer names it; `None` = the peer.
    client: Option<Box<Peer>>,
    /// Id of the request; empty = none.
    id: Box<str>,
}

impl Parsed<'_> {
    fn asker(&self) -> Asker<'_> {
        Asker { id: &self.id, client: self.client.as_deref() }
    }
}

/// Parses the head at the start of `buf` and decides about the request. The first bytes of the body go to the
/// exchange; further requests are kept in the connection.
pub(crate) fn begin(connection: &mut Connection, buf: &[u8], now: Instant, started: Instant) -> Begun {
    let worker = Rc::clone(&connection.worker);
    let mut table = worker.headers.borrow_mut();
    connection.follow_plan();
    let listener = Rc::clone(&connection.listener);
    let parsed = parse_request(buf, &listener.http.plan.limits, &mut table);
    let head = match parsed {
        Ok(Some(head)) => head,
        Ok(None) => return Begun::Incomplete,
        Err(error) => return unreadable(connection, error, buf, now, started),
    };
    connection.head_started = None;
    connection.requests = connection.requests.saturating_add(1);
    let (normal, fault) = match NormalTarget::of(buf, &head, listener.http.plan.paths.as_ref()) {
        Ok(normal) => (normal, None),
        Err(fault) => (NormalTarget::AS_SENT, Some(fault)),
    };
    let head_bytes = head.head_bytes;
    let sent_target = normal.rewritten.is_some().then(|| head.target.span.of(buf));
    // From here on, only the target that a server would get is used.
    let rewritten = normal.rewritten.as_deref().map(|target| NormalTarget::replace(buf, &head, target));
    let (buf, head) = match &rewritten {
        None => (buf, head),
        Some(rewritten) => match parse_request(rewritten, &listener.http.plan.limits, &mut table) {
            Ok(Some(head)) => (rewritten.as_slice(), head),
            // Percent-encoded bytes can make the head too large.
            Ok(None) => return unreadable(connection, HeaderFault::HeadTooLarge.into(), buf, now, started),
            Err(error) => return unreadable(connection, error, buf, now, started),
        },
    };
    // Counted only here, because a head that is refused above is counted there.
    let counters = listener.counters(&worker);
    counters.requests.one();
    counters.bytes_in.add(u64::from(head_bytes));
    let timing = Timing::new(now, started);
    let source = listener.http.forwarder.client_address(buf, &table, &connection.peer);
    let client = connection.peer.named_client(source).map(Box::new);
    let request = Parsed {
        buf,
        head: &head,
        table: &table,
        head_bytes,
        spelling: PathSpelling { sent_target, compared: normal.compared.as_deref() },
        fault,
        has_refused_backslash: normal.has_refused_backslash,
        timing: &timing,
        source,
        client,
        id: connection.request_id(buf, &table),
    };
    decide(connection, request)
}

/// Refuses a head that cannot be parsed or forwarded.
fn unreadable(
    connection: &Connection,
    error: RequestError,
    buf: &[u8],
    now: Instant,
    started: Instant,
) -> Begun {
    let unread = Unread::new(buf.len(), now, started);
    Begun::Answer(Box::new(Answer::to_unread(connection, error.status(), error.into(), unread)))
}

fn decide(connection: &mut Connection, request: Parsed<'_>) -> Begun {
    let Parsed { buf, head, table, source, .. } = request;
    let status = |connection: &mut Connection, status, route| {
        local(connection, &request, route, |connection, keep| {
            Answer::of_status(connection, head, status, &request.id, keep)
        })
    };
    let refused = |connection: &mut Connection, rule, route| {
        local(connection, &request, route, |connection, keep| {
            Answer::refused(connection, head, (400, rule), &request.id, keep)
        })
    };
    if head.method == Method::Connect {
        return status(connection, 405, None);
    }
    if let Some(fault) = request.fault {
        return refused(connection, fault.into(), None);
    }
    let listener = Rc::clone(&connection.listener);
    let http = &listener.http;
    let wanted = RouteRequest::of(head, buf, table, source, http.forwarder.scheme(), listener.name())
        .comparing(request.spelling.compared);
    let decision = http.table.find(&wanted);
    if !decision.failures.is_empty() {
        http.count_failures(listener.counters(&connection.worker), &decision.failures);
    }
    let Some(index) = decision.route else {
        if head.target.form == TargetForm::Asterisk {
            // The target `*` names no resource (RFC 9110 section 9.3.7), so it needs no route.
            return local(connection, &request, None, |connection, keep| {
                Answer::of_last(connection, buf, head, table, &request.id, keep)
            });
        }
        return status(connection, 404, None);
    };
    let route = &http.routes[index];
    // A storage area treats a backslash as a character, as this listener does. The interpretation by a server
    // is unknown.
    if request.has_refused_backslash && !matches!(route.plan.action, Action::Storage(_)) {
        return refused(connection, RefusalRule::PathBackslash, Some(index));
    }
    let of_route =
        |index: usize| http.routes.get(index).map(|route| (&route.plan.action, route.plan.rewrite.as_ref()));
    if !matches!(route.plan.action, Action::Redirect(_) | Action::Respond(_))
        && let Some(status) =
            http.forwarder.destination(buf, head, table).refusal(index, &wanted, &http.table, of_route)
    {
        return local(connection, &request, Some(index), |connection, keep| {
            let rule = (status, RefusalRule::Destination);
            Answer::refused(connection, head, rule, &request.id, keep)
        });
    }
    let pool = match &route.plan.action {
        Action::Pool(_) if head.max_forwards == Some(0) => {
            return local(connection, &request, Some(index), |connection, keep| {
                Answer::of_last(connection, buf, head, table, &request.id, keep)
            });
        }
        Action::Pool(pool) => match connection.live.pool(*pool) {
            Some(pool) => Rc::clone(pool),
            None => return status(connection, 503, Some(index)),
        },
        Action::Storage(_) => {
            if let Some(refusal) = over_limit(route.plan.body_bytes_max, head) {
                return status(connection, refusal, Some(index));
            }
            return call(connection, request, index);
        }
        Action::Redirect(_) | Action::Respond(_) => {
            return local(connection, &request, Some(index), |connection, keep| {
                Answer::of_route(connection, buf, head, index, request.asker(), keep)
            });
        }
    };
    if let Some(refusal) = over_limit(route.plan.body_bytes_max, head) {
        return status(connection, refusal, Some(index));
    }
    let target = head.target.span.of(buf);
    let key = pool.shared.key.as_ref();
    let key = key.and_then(|reader| {
        reader.of_request(&wanted, target, connection.peer_address(), || connection.own_address())
    });
    if pool.shared.redirect.is_some()
        && let Some(location) = elsewhere(connection, &pool, &request, &wanted, key)
    {
        return local(connection, &request, Some(index), |connection, keep| {
            Answer::elsewhere(connection, head, &location, &request.id, keep)
        });
    }
    let bond = pool.shared.sticky.as_ref().map(|sticky| {
        let secure = http.forwarder.scheme() == Scheme::Https;
        let now = connection.worker.now();
        Box::new(Bond::of_request(sticky, &Request { head: &wanted, secure, now }))
    });
    let class = pool.shared.static_paths.as_ref().map(|paths| {
        let is_static = matches!(head.method, Method::Get | Method::Head) && paths.matches(wanted.path);
        if is_static { RequestClass::Static } else { RequestClass::Dynamic }
    });
    let place = Place { key, rank: rank(&pool, &route.plan.priority, &request) };
    let mut exchange = send_to(connection, request, index, pool, place, bond);
    exchange.class = class;
    Begun::Exchange(exchange)
}

/// Returns the URL that the client is redirected to, if it is.
fn elsewhere(
    connection: &Connection,
    pool: &Rc<LocalPool>,
    request: &Parsed<'_>,
    wanted: &RouteRequest<'_>,
    key: Option<Key>,
) -> Option<Vec<u8>> {
    let Parsed { buf, table, .. } = *request;
    if wanted.stays_here() {
        return None;
    }
    let authorization: Vec<&[u8]> =
        table.named(buf, b"authorization").map(|line| line.value().of(buf)).collect();
    let asked = Asked { request: wanted, authorization: &authorization, key };
    Redirect::location(pool, &connection.worker, &asked)
}

/// Creates the exchange that sends a request to `pool`.
fn send_to(
    connection: &mut Connection,
    request: Parsed<'_>,
    route_index: usize,
    pool: Rc<LocalPool>,
    place: Place,
    bond: Option<Box<Bond>>,
) -> Box<Exchange> {
    let Parsed { buf, head, table, timing, .. } = request;
    if let Some(pending) = question::pending(connection, &pool, (buf, head, table)) {
        let asked = question::Asked { pool, route: route_index, asker: request.asker() };
        let out = question::before(connection, (buf, head, table), &asked, &pending);
        let pool = asked.pool;
        connection.received = connection.worker.buffers.take_with(&buf[head.head_bytes as usize..]);
        let mut facts = facts(connection, request, route_index, true);
        let pending = PendingUpload { keep_alive: facts.keep_alive, ..pending };
        // The start of the next request is unknown until the body has been read.
        facts.keep_alive &= matches!(pending.framing, Framing::None | Framing::Length(0));
        // A subrequest has no Upgrade.
        facts.upgrade = None;
        let message = Message { head: out, upload: Pump::new(BodyScanner::None), broken: None, bond };
        let exchange = Exchange::new(pool, facts, *timing, message, place);
        return Box::new(exchange.asking(Question::Before(pending)));
    }
    let to = (route_index, request.asker());
    let collected = collected_body_bytes(&pool, head);
    let body = if collected.is_some() { BodyIs::Collected } else { BodyIs::PassedOn };
    let mut out = question::head(connection, (buf, head, table), &pool, to, body);
    let route = &connection.listener.http.routes[route_index];
    let body_at = head.head_bytes as usize;
    let mut upload = Pump::new(BodyScanner::with_trailers(head.framing, &route.trailers));
    upload.limit(route.plan.body_bytes_max.unwrap_or(u64::MAX));
    // The exchange reports an error in the first bytes of the body and answers it.
    let rest = &buf[body_at..];
    let broken = match upload.take_first(rest) {
        Ok(changed) => {
            out.extend_from_slice(changed.as_deref().unwrap_or(&rest[..upload.bytes_read as usize]));
            None
        }
        Err(error) => Some(error),
    };
    connection.received = std::mem::take(&mut upload.surplus);
    let is_needed_later = pool.shared.plan.offload.is_some();
    let facts = facts(connection, request, route_index, is_needed_later);
    let message = Message { head: out, upload, broken, bond };
    let mut exchange = connection.worker.exchanges.put(Exchange::new(pool, facts, *timing, message, place));
    if collected.is_some() {
        exchange.collect_first(head.expect_continue);
    }
    exchange
}

/// Returns the length of a body that must be received before a server is chosen.
fn collected_body_bytes(pool: &LocalPool, head: &RequestHead) -> Option<u64> {
    let Framing::Length(bytes @ 1..) = head.framing else { return None };
    let max = pool.shared.plan.collected_body_bytes_max?;
    (bytes <= max && head.upgrade.is_none()).then_some(bytes)
}

/// Returns the status for a body whose declared length exceeds the limit of the route.
fn over_limit(body_bytes_max: Option<u64>, head: &RequestHead) -> Option<u16> {
    match (body_bytes_max, head.framing) {
        (Some(max), Framing::Length(length)) if length > max => Some(413),
        _ => None,
    }
}

/// Collects the request metadata that outlives the head buffer.
fn facts(connection: &Connection, request: Parsed<'_>, route: usize, is_needed_later: bool) -> RequestFacts {
    let Parsed { buf, head, table, head_bytes, spelling, client, id, .. } = request;
    let http = &connection.listener.http;
    let needs_request = http.routes.get(route).is_some_and(|route| route.rewriter.needs_request());
    let needs_copy = needs_request || is_needed_later || connection.live.shared.access_log.is_some();
    let requests_max = http.plan.keep_alive_requests_max;
    RequestFacts {
        method: head.method,
        is_head: head.method == Method::Head,
        version: head.version,
        keep_alive: head.keep_alive
            && connection.worker.drain.get() == Drain::No
            && requests_max.is_none_or(|max| connection.requests < max),
        client_persists: head.keep_alive,
        upgrade: head.upgrade.map(|protocol| protocol.of(buf).into()),
        route,
        head_bytes,
        id,
        client,
        copy: needs_copy.then(|| RequestCopy::of(buf, head, table, spelling, &connection.worker.buffers)),
    }
}

/// Passes a request to a service. The bytes after its head stay in the connection.
fn call(connection: &mut Connection, request: Parsed<'_>, route: usize) -> Begun {
    let Parsed { buf, head, table, timing, source, .. } = request;
    let facts = facts(connection, request, route, false);
    connection.listener.counters(&connection.worker).intercepted.one();
    connection.received = connection.worker.buffers.take_with(&buf[head.head_bytes as usize..]);
    Begun::Call(Box::new(Call::new(connection, (buf, head, table), facts, *timing, source)))
}

/// Returns the rank of a request if it has to wait for a server.
fn rank(pool: &LocalPool, priority: &Priority, request: &Parsed<'_>) -> Rank {
    let header = |name: &str| {
        let line = request.table.named(request.buf, name.as_bytes()).next();
        line.map(|line| line.value().of(request.buf))
    };
    let asked = |name: &Option<String>| {
        let value = name.as_deref().and_then(header)?;
        std::str::from_utf8(value).ok()?.trim().parse::<i64>().ok()
    };
    Rank {
        class: asked(&priority.header).map_or(priority.class, Priority::in_range),
        client: pool.queue_client(request.source, header),
        offset_ms: asked(&priority.offset_header).map_or(priority.offset_ms, Priority::offset_in_range),
    }
}

/// Answers without a server. If the body has not arrived completely, the connection ends after the response.
fn local(
    connection: &mut Connection,
    request: &Parsed<'_>,
    route: Option<usize>,
    answer: impl FnOnce(&Connection, bool) -> Answer,
) -> Begun {
    let Parsed { buf, head, table, head_bytes, spelling, timing, .. } = *request;
    let mut scanner = BodyScanner::new(head.framing);
    let rest = &buf[head.head_bytes as usize..];
    let fed = scanner.feed(rest);
    let mut body_bytes = fed.unwrap_or(rest.len()) as u64;
    connection.received = rest[fed.unwrap_or(rest.len())..].to_vec();
    if fed.is_ok() && !scanner.is_done() {
        body_bytes += unwanted::read_for_scanner(connection, &mut scanner);
    }
    let whole = scanner.is_done();
    let counters = connection.listener.counters(&connection.worker);
    counters.intercepted.one();
    counters.bytes_in.add(body_bytes);
    let keep = head.keep_alive && whole && connection.worker.drain.get() == Drain::No;
    let mut answer = answer(connection, keep);
    answer.linger |= !whole;
    answer.asked = Some(timing.start);
    if connection.live.log.is_some() {
        answer.line = Some(Line::Request(Box::new(AnsweredRequest {
            copy: Some(RequestCopy::of(buf, head, table, spelling, &connection.worker.buffers)),
            id: request.id.clone(),
            client: request.client.clone(),
            route,
            timing: *timing,
            bytes_in: u64::from(head_bytes) + body_bytes,
            tried: None,
            termination: answer.termination(),
        })));
    }
    Begun::Answer(Box::new(answer))
}
