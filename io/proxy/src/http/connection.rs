//! A client's HTTP connection: serves one request after another until one side ends it.
//!
//! Between requests it owns no buffer; the state of a request is in its [`Exchange`], which is freed with it.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use weir_config::plan::TlsVersion;
use weir_http::access_log::{Cause, Phase, Termination};
use weir_http::{Exchange as Names, HeaderTable, Peer, RefusalRule, TlsNames, is_worth_parsing};
use weir_net::tls::TlsStream;
use weir_net::{Deadline, Socket, Stream};

use super::answer::{Answer, Unread};
use super::begin::{Begun, begin};
use super::closing::{close, linger, reset_when_delivered};
use super::exchange::{ClientSide, Exchange};
use super::finish::{After, finish_answer, finish_exchange};
use super::request::Asker;
use super::request_id;
use super::service::{self, Call, Serving};
use super::upgrade::tunnel;
use crate::connect::ProxiedClient;
use crate::log;
use crate::session::Arrival;
use crate::worker::{Drain, LocalHttp, LocalListener, LocalLive, Source, Worker};

/// Size of the first read: small enough to leave the body of a large upload in the kernel, from where it can
/// be spliced.
pub(super) const FIRST_READ: usize = 4 * 1024;

/// One client's connection.
pub(crate) struct Connection {
    pub(crate) worker: Rc<Worker>,
    /// Plan that `listener` belongs to.
    pub(crate) live: Rc<LocalLive>,
    pub(crate) listener: Rc<LocalHttp>,
    pub(crate) stream: Stream,
    pub(crate) deadline: Deadline,
    pub(crate) peer: Peer,
    /// Address that the client connected to, if a PROXY header named it.
    pub(crate) destination: Option<SocketAddr>,
    pub(crate) tls: Option<Box<ClientTlsFacts>>,
    /// Bytes read but not used yet: an incomplete head, or pipelined requests.
    pub(crate) received: Vec<u8>,
    /// Time of the first byte of the request that is being read.
    pub(crate) head_started: Option<Instant>,
    pub(crate) requests: u32,
    /// Number of the connection in the worker's table.
    number: u32,
}

/// A client's TLS session, as text for headers and logs.
#[derive(Debug, Default)]
pub(crate) struct ClientTlsFacts {
    pub(crate) version: &'static str,
    pub(crate) cipher: &'static str,
    pub(crate) server_name: String,
    pub(crate) subject: String,
    pub(crate) issuer: String,
    /// Expiry of the client's certificate, in seconds since 1970.
    pub(crate) not_after_unix_secs: Option<u64>,
}

impl ClientTlsFacts {
    pub(crate) fn of(stream: &TlsStream<Socket>) -> Self {
        Self {
            version: match stream.version() {
                Some(TlsVersion::V1_2) => "1.2",
                Some(TlsVersion::V1_3) => "1.3",
                None => "",
            },
            cipher: stream.cipher().unwrap_or_default(),
            server_name: stream.server_name().unwrap_or_default().to_owned(),
            subject: stream.peer_subject().unwrap_or_default(),
            issuer: stream.peer_issuer().unwrap_or_default(),
            not_after_unix_secs: stream.peer_not_after_unix_secs(),
        }
    }

    /// Returns the names for templates.
    pub(crate) fn names(&self) -> TlsNames<'_> {
        TlsNames {
            version: self.version,
            cipher: self.cipher,
            sni: &self.server_name,
            client_subject: &self.subject,
        }
    }
}

/// Result of reading the client's next bytes.
enum Next {
    Exchange(Box<Exchange>),
    Answer(Box<Answer>),
    Call(Box<Call>),
    Close,
}

/// Serves the connection until it ends.
pub(crate) async fn serve(mut connection: Box<Connection>) {
    loop {
        if !connection.is_in_first_head() {
            connection.deadline.arm(connection.worker.now(), connection.idle_time());
        }
        let next = poll_fn(|cx| connection.poll_next(cx)).await;
        connection.worker.table.is_busy(connection.number);
        let after = match next {
            Next::Close => return connection.end(),
            Next::Answer(answer) => connection.send(answer).await,
            Next::Exchange(mut exchange) => {
                let end = poll_fn(|cx| {
                    let proxies = exchange.pool.shared.plan.proxy_protocol.is_some();
                    let mut client = connection.client_side(proxies);
                    exchange.poll(cx, &mut client)
                })
                .await;
                match finish_exchange(&mut connection, exchange, end) {
                    After::Answer(answer) => connection.send(answer).await,
                    After::Offload(request, offloaded, order) => {
                        let delivering = service::deliver(connection, *request, offloaded, order);
                        let delivering = Box::pin(delivering);
                        let Some((returned, after)) = delivering.await else { return };
                        connection = returned;
                        after
                    }
                    after => after,
                }
            }
            Next::Call(call) => {
                // A service keeps its state in boxes of its own, because anything else would enlarge the task
                // of an idle connection.
                let Some((returned, after)) = Serving::new(connection, call).await else { return };
                connection = returned;
                after
            }
        };
        match after {
            After::Next => connection.worker.table.waits(connection.number, connection.worker.now_ms()),
            // Nothing needs to be awaited: no TLS close message, and no surplus bytes of the client.
            After::Close if connection.stream.is_plain() && connection.received.is_empty() => {
                return connection.end();
            }
            After::Answer(_) | After::Offload(..) | After::Close => return Box::pin(close(connection)).await,
            After::Linger => return Box::pin(linger(connection)).await,
            After::Reset => return connection.stream.socket().reset_on_close(),
            After::ResetWhenDelivered => return Box::pin(reset_when_delivered(connection)).await,
            After::Tunnel(exchange) => return Box::pin(tunnel(connection, exchange)).await,
        }
    }
}

impl Connection {
    pub(crate) fn new(
        worker: Rc<Worker>,
        live: Rc<LocalLive>,
        listener: Rc<LocalHttp>,
        arrival: Arrival,
    ) -> Self {
        let peer = match arrival.client {
            Some(address) => listener.http.forwarder.peer(address),
            None => Peer::without_address(),
        };
        if peer.is_trusted() {
            // Many clients share a trusted proxy.
            worker.table.belongs_to(arrival.number, Source::ALONE);
        }
        Self {
            worker,
            live,
            listener,
            stream: arrival.stream,
            deadline: arrival.deadline,
            peer,
            destination: arrival.destination,
            tls: arrival.tls,
            received: Vec::new(),
            head_started: None,
            requests: 0,
            number: arrival.number,
        }
    }

    /// Closes the connection. Its memory is reused by the next one.
    fn end(self: Box<Self>) {
        let worker = Rc::clone(&self.worker);
        worker.connections.give(self);
    }

    /// Changes to the plan in force, if that still has the listener.
    pub(super) fn follow_plan(&mut self) {
        if self.worker.is_current(&self.live) {
            return;
        }
        let live = self.worker.live();
        if let Some(LocalListener::Http(listener)) = live.listener(&self.listener.shared.plan.name) {
            self.listener = Rc::clone(listener);
            self.live = live;
        }
    }

    /// Returns true if a reload has removed the listener. Its connections then end when they are idle. A new
    /// connection may still send one request.
    fn is_orphan(&self) -> bool {
        self.requests > 0
            && !self.worker.is_current(&self.live)
            && self.worker.live().listener(&self.listener.shared.plan.name).is_none()
    }

    /// Returns the names of all parties of an exchange, for templates.
    pub(super) fn names<'a>(
        &'a self,
        asker: Asker<'a>,
        route: &'a str,
        pool: &'a str,
        tls: Option<&'a TlsNames<'a>>,
    ) -> Names<'a> {
        Names {
            peer: &self.peer,
            client: asker.client.unwrap_or(&self.peer),
            request_id: asker.id,
            listener: self.listener.name(),
            route,
            pool,
            // The server is chosen after the head is written.
            server: None,
            tls,
        }
    }

    /// Returns the request's id: the client's, if the rules accept it, or a new one. Empty = requests have no
    /// ids.
    pub(super) fn request_id(&self, buf: &[u8], table: &HeaderTable) -> Box<str> {
        let accepted = self.listener.http.forwarder.accepted_request_id(buf, table);
        match accepted.and_then(|id| std::str::from_utf8(id.of(buf)).ok()) {
            Some(id) => id.into(),
            None => self.new_request_id(),
        }
    }

    /// Returns a new id; empty = requests have no ids.
    pub(super) fn new_request_id(&self) -> Box<str> {
        if !self.listener.http.forwarder.has_request_ids() {
            return Box::default();
        }
        request_id::of([self.worker.random(), self.worker.random()])
    }

    /// Returns true if the connection must close because new connections need its room.
    pub(super) fn gives_way(&self) -> bool {
        self.worker.table.gives_way(self.number)
    }

    /// Records in the worker's table whether the request waits for more of its body.
    pub(super) fn waits_for_body(&self, waits: bool) {
        match waits {
            true => self.worker.table.waits_for_body(self.number, self.worker.now_ms()),
            false => self.worker.table.is_busy(self.number),
        }
    }

    /// Returns the parts of this connection that an exchange may use.
    pub(super) fn client_side(&mut self, proxies: bool) -> ClientSide<'_> {
        let proxied = if proxies { self.proxied() } else { None };
        ClientSide {
            stream: &mut self.stream,
            deadline: &self.deadline,
            listener: &self.listener,
            worker: &self.worker,
            number: self.number,
            peer: &self.peer,
            tls: self.tls.as_deref(),
            proxied,
        }
    }

    /// Returns the address that the client has connected to.
    pub(super) fn own_address(&self) -> Option<SocketAddr> {
        self.destination.or_else(|| self.stream.socket().local_address())
    }

    fn proxied(&self) -> Option<ProxiedClient> {
        Some(ProxiedClient { source: self.peer_address()?, destination: self.own_address()? })
    }

    /// Returns the address of the peer.
    pub(super) fn peer_address(&self) -> Option<SocketAddr> {
        Some(SocketAddr::new(self.peer.ip()?, self.peer.port()))
    }

    /// Returns true if one deadline covers everything up to the end of the first head
    /// ([`Arrival::head_runs`]).
    fn is_in_first_head(&self) -> bool {
        self.requests == 0 && (self.tls.is_some() || self.destination.is_some())
    }

    /// Returns the time in which the next request must begin. For the first request, its head must be
    /// complete by then.
    fn idle_time(&self) -> Duration {
        let timeouts = self.listener.timeouts();
        if self.requests == 0 { timeouts.head.duration() } else { timeouts.idle.duration() }
    }

    /// Reads until a request head is complete, and decides about the request.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Next> {
        if self.gives_way() && !self.has_been_asked() {
            return Poll::Ready(self.give_way());
        }
        if !self.received.is_empty() && self.head_started.is_none() {
            self.head_started = Some(self.worker.look_at_clock());
            if let Some(next) = self.begin_received() {
                return Poll::Ready(next);
            }
        }
        loop {
            let polled = {
                let mut scratch = self.worker.scratch.borrow_mut();
                self.stream.poll_read(cx, &mut scratch.body()[..FIRST_READ])
            };
            let read = match polled {
                Poll::Pending => return self.poll_idle(cx),
                Poll::Ready(Ok(read)) if read > 0 => read,
                Poll::Ready(_) => return Poll::Ready(self.ended_early()),
            };
            let now = self.worker.look_at_clock();
            let fresh = self.head_started.is_none();
            let started = *self.head_started.get_or_insert(now);
            let begun = if self.received.is_empty() {
                let worker = Rc::clone(&self.worker);
                let mut scratch = worker.scratch.borrow_mut();
                let begun = begin(self, &scratch.body()[..read], now, started);
                if matches!(begun, Begun::Incomplete) {
                    self.received = worker.buffers.take_with(&scratch.body()[..read]);
                }
                next_of(begun)
            } else {
                let worker = Rc::clone(&self.worker);
                let before = self.received.len();
                self.received.extend_from_slice(&worker.scratch.borrow_mut().body()[..read]);
                if is_worth_parsing(&self.received, before) { self.begin_received() } else { None }
            };
            match begun {
                Some(next) => return Poll::Ready(next),
                None if fresh && !self.is_in_first_head() => {
                    self.deadline.arm(now, self.listener.timeouts().head.duration())
                }
                None => {}
            }
        }
    }

    /// Parses the bytes received earlier.
    fn begin_received(&mut self) -> Option<Next> {
        let received = std::mem::take(&mut self.received);
        let now = self.worker.now();
        let started = self.head_started.unwrap_or(now);
        let begun = begin(self, &received, now, started);
        if matches!(begun, Begun::Incomplete) {
            self.received = received;
            if !self.is_in_first_head() {
                self.deadline.arm(started, self.listener.timeouts().head.duration());
            }
        } else {
            self.worker.buffers.give(received);
        }
        next_of(begun)
    }

    fn poll_idle(&mut self, cx: &mut Context<'_>) -> Poll<Next> {
        let expired = self.deadline.poll_expired(cx);
        let nothing_came = self.head_started.is_none();
        if nothing_came && (expired || self.worker.drain.get() >= Drain::CloseIdle || self.is_orphan()) {
            return Poll::Ready(Next::Close);
        }
        if expired && self.worker.drain.get() == Drain::Cut {
            // At a shutdown all deadlines expire; that is not the client's fault.
            self.broken_off(Termination::new(Cause::Killed, Phase::Request));
            return Poll::Ready(Next::Close);
        }
        if expired {
            let now = self.worker.look_at_clock();
            let unread = Unread::new(self.received.len(), now, self.head_started.unwrap_or(now));
            let answer = Answer::to_unread(self, 408, RefusalRule::HeadTimeout, unread);
            return Poll::Ready(Next::Answer(Box::new(answer)));
        }
        // A TLS session may still have bytes to send, for example a session ticket.
        if let Poll::Ready(Err(_)) = self.stream.poll_flush(cx) {
            return Poll::Ready(Next::Close);
        }
        Poll::Pending
    }

    /// Returns true if this connection must close but its next request has just arrived, and another
    /// connection closes in its place.
    #[cold]
    fn has_been_asked(&mut self) -> bool {
        // Only once, at the first bytes of a request: a partial head does not protect a connection.
        if self.head_started.is_some() || !self.stream.socket().has_bytes_now() {
            return false;
        }
        let worker = &self.worker;
        let passes_on = worker.table.passes_on(self.number, &worker.timers);
        if passes_on {
            self.deadline.arm(worker.look_at_clock(), self.listener.timeouts().head.duration());
        }
        passes_on
    }

    /// Closes the connection because new ones need its room.
    #[cold]
    fn give_way(&mut self) -> Next {
        self.listener.counters(&self.worker).connections_denied.one();
        if self.head_started.is_some() {
            self.broken_off(Termination::REQUEST_TIMEOUT);
        }
        Next::Close
    }

    /// Handles the end of the connection, or of the client's direction, between requests or within a head.
    #[cold]
    fn ended_early(&mut self) -> Next {
        if self.head_started.is_some() {
            let counters = self.listener.counters(&self.worker);
            counters.request_errors.one();
            counters.client_aborts.one();
            self.broken_off(Termination::CLIENT_LEFT_IN_REQUEST);
        }
        Next::Close
    }

    /// Counts and logs the received bytes of a head whose rest will not arrive.
    #[cold]
    fn broken_off(&self, termination: Termination) {
        let now = self.worker.look_at_clock();
        let unread = Unread::new(self.received.len(), now, self.head_started.unwrap_or(now));
        self.listener.counters(&self.worker).bytes_in.add(unread.bytes_in);
        log::broken_off(self, unread.bytes_in, &unread.timing, termination);
    }

    /// Sends a response of Weir's own.
    pub(super) async fn send(&mut self, mut answer: Box<Answer>) -> After {
        let sent = poll_fn(|cx| answer.poll(cx, self)).await;
        finish_answer(self, &mut answer, &sent);
        match sent {
            Err(_) => After::Reset,
            Ok(()) if answer.linger => After::Linger,
            Ok(()) if answer.keep_alive => After::Next,
            Ok(()) => After::Close,
        }
    }
}

fn next_of(begun: Begun) -> Option<Next> {
    match begun {
        Begun::Incomplete => None,
        Begun::Exchange(exchange) => Some(Next::Exchange(exchange)),
        Begun::Answer(answer) => Some(Next::Answer(answer)),
        Begun::Call(call) => Some(Next::Call(call)),
    }
}

#[cfg(test)]
mod tests {
    /// Returns the size of the task that a function creates.
    fn task_bytes<A, F>(_: fn(A) -> F) -> usize {
        size_of::<F>()
    }

    #[test]
    fn the_task_of_an_idle_connection_stays_small() {
        // Boxed state lives as long as the task, so it counts too.
        let bytes = task_bytes(super::serve) + size_of::<super::Connection>();
        assert!(bytes <= 640, "{bytes} bytes: something lives across a wait that should be boxed");
    }
}
