//! Starts a second try at another server if the first one is silent for too long (Dean and Barroso, The Tail
//! at Scale, 2013, "hedged requests"). The exchange takes the response that begins first; the other try ends
//! with its connection.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use super::{ClientSide, Exchange, State, Upload};
use crate::connect::{ConnectError, connect};
use crate::http::response::FIRST_READ;
use crate::state::Retrying;
use crate::worker::{Choice, Done, Lease, LocalPool, ServerConnection};

/// State of the second try.
pub(super) enum Hedge {
    /// There is none, or no more.
    Off,
    /// The delay begins when the request has been sent.
    Wanted,
    /// The second try starts at this time if no byte of a response has arrived.
    At(Instant),
    /// The second try is in progress.
    Tried(Box<SecondTry>),
    /// The second try is the only one left. Its response must begin by this time, the limit of the first one.
    Alone(Instant),
}

/// Result of the second try, for the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hedged {
    /// There was none.
    No,
    /// The first try was faster, or neither was answered.
    Lost,
    /// The client got the response of the second try.
    Won,
}

/// A try that runs beside the first one.
pub(super) struct SecondTry {
    lease: Lease,
    progress: Progress,
    reused: bool,
    /// True if it failed because of a local shortage, which says nothing about the server.
    is_blameless: bool,
    chosen: Instant,
    connected: Instant,
    sent: Instant,
    /// Counts the second try as a retry while both tries run.
    retrying: Option<Retrying>,
}

enum Progress {
    Connecting(Pin<Box<dyn Future<Output = Result<ServerConnection, ConnectError>>>>),
    /// The number counts the bytes of the head sent so far.
    Sending(ServerConnection, usize),
    Waiting(ServerConnection),
}

impl Exchange {
    /// Returns `Wanted` if this request may have a second try.
    pub(super) fn wants_hedge(&self) -> Hedge {
        let bodiless = self.upload.is_read() && self.upload.bytes_read == 0;
        let may = || self.request.method.is_safe() && bodiless && self.request.upgrade.is_none();
        if self.pool.shared.plan.hedge.is_some() && may() { Hedge::Wanted } else { Hedge::Off }
    }

    /// Starts the delay after which the second try begins, because the request has been sent.
    pub(super) fn hedge_later(&mut self, now: Instant) {
        if matches!(self.hedge, Hedge::Wanted)
            && let Some(delay) = self.pool.shared.hedge_delay()
        {
            self.hedge = Hedge::At(now + delay);
        }
    }

    /// Returns the time until the second try begins, or the maximum if none is scheduled.
    pub(super) fn until_hedge(&self, now: Instant) -> Duration {
        match self.hedge {
            Hedge::At(at) => at.saturating_duration_since(now),
            _ => Duration::MAX,
        }
    }

    /// Returns true if there is a second try, or may still be one.
    #[inline]
    pub(super) fn may_have_second_try(&self) -> bool {
        !matches!(self.hedge, Hedge::Off)
    }

    /// Advances the second try while no byte of a response has arrived. Returns true if its response has
    /// begun; the exchange then uses that one.
    #[inline(never)]
    pub(super) fn poll_hedge(&mut self, cx: &mut Context<'_>, client: &ClientSide<'_>) -> bool {
        if matches!(self.hedge, Hedge::Alone(_)) {
            return false;
        }
        if self.timing.first_byte_came() {
            // The first response has begun, so the second try ends.
            if let Hedge::Tried(second) = std::mem::replace(&mut self.hedge, Hedge::Off) {
                self.overtook(&second, client.worker.now());
            }
            return false;
        }
        let now = client.worker.now();
        if matches!(self.hedge, Hedge::At(at) if now >= at) {
            self.hedge = self.try_second(client).map_or(Hedge::Off, |second| Hedge::Tried(Box::new(second)));
        }
        loop {
            let Hedge::Tried(second) = &mut self.hedge else { return false };
            match second.poll(cx, &self.head, client) {
                Poll::Pending => return false,
                Poll::Ready(None) if second.reused => {
                    if !self.second_afresh(client) {
                        self.hedge = Hedge::Off;
                        return false;
                    }
                }
                Poll::Ready(None) => {
                    if !second.is_blameless {
                        self.pool.server_failed(&second.lease);
                    }
                    self.hedge = Hedge::Off;
                    return false;
                }
                Poll::Ready(Some(begun)) => {
                    self.hedge_won(begun, client);
                    return true;
                }
            }
        }
    }

    /// Replaces the failed first try by the second one, if that is in progress and there is time left. This
    /// costs no further retry.
    #[cold]
    pub(super) fn go_on_with_hedge(&mut self, client: &ClientSide<'_>) -> bool {
        let second = match std::mem::replace(&mut self.hedge, Hedge::Off) {
            Hedge::Tried(second) => second,
            // The second try has not happened yet; it can happen after the next one, whose server may be
            // silent too.
            Hedge::Wanted | Hedge::At(_) => {
                self.hedge = Hedge::Wanted;
                return false;
            }
            Hedge::Off | Hedge::Alone(_) => return false,
        };
        let now = client.worker.now();
        // While both tries ran, this was the time limit of the first one.
        let (by, left) = (self.idle_until, self.idle_until.saturating_duration_since(now));
        // If the client has received a part of the first response, it must learn that this one broke off.
        if self.passed_on || left.is_zero() {
            return false;
        }
        let SecondTry { lease, progress, reused, chosen, connected, sent: asked, .. } = *second;
        let first = self.lease.replace(lease);
        if let (Some(first), false) = (first, self.reused) {
            self.tried.push(first.server.shared.slot);
        }
        self.reused = reused;
        self.partial.clear();
        self.timing.chosen(chosen);
        self.upload_state = Upload::Sending;
        self.hedge = Hedge::Alone(by);
        match progress {
            Progress::Connecting(opening) => {
                self.head_sent = 0;
                let within = self.pool.shared.plan.timeouts.connect.duration();
                client.deadline.arm(now, within.min(left));
                self.state = State::Connecting(opening);
            }
            Progress::Sending(connection, sent) => {
                self.timing.connected(connected);
                self.take_over(connection, sent, client);
            }
            Progress::Waiting(connection) => {
                self.timing.connected(connected);
                self.timing.request_sent(asked);
                self.upload_state = Upload::Done;
                let sent = self.head.len();
                self.take_over(connection, sent, client);
            }
        }
        true
    }

    /// Returns the time by which the response must begin, if the second try is the only one left.
    pub(super) fn alone_until(&self) -> Option<Instant> {
        match self.hedge {
            Hedge::Alone(by) => Some(by),
            _ => None,
        }
    }

    /// Ends hedging when the head of the response has arrived. If it is the second try's, records that it
    /// won; if it is the first one's, drops the second try.
    pub(super) fn end_hedge(&mut self, now: Instant) {
        match std::mem::replace(&mut self.hedge, Hedge::Off) {
            Hedge::Alone(_) => {
                self.hedged = Hedged::Won;
                self.pool.counters().hedges_won.one();
            }
            Hedge::Tried(second) => self.overtook(&second, now),
            Hedge::Off | Hedge::Wanted | Hedge::At(_) => {}
        }
    }

    /// Records that the first response began while the second try waited: the second server would have taken
    /// at least as long.
    #[cold]
    fn overtook(&self, second: &SecondTry, now: Instant) {
        if let Progress::Waiting(_) = second.progress {
            let waited = now.saturating_duration_since(second.sent);
            second.lease.overtaken(now, u32::try_from(waited.as_micros()).unwrap_or(u32::MAX));
            self.pool.learn_at_least(&second.lease.server, now, waited);
        }
    }

    fn take_over(&mut self, connection: ServerConnection, head_sent: usize, client: &ClientSide<'_>) {
        self.connection = Some(connection);
        self.head_sent = head_sent;
        self.state = State::Running;
        self.arm(client);
    }

    #[cold]
    fn hedge_won(&mut self, begun: Vec<u8>, client: &ClientSide<'_>) {
        let Hedge::Tried(second) = std::mem::replace(&mut self.hedge, Hedge::Off) else { return };
        let SecondTry { lease, progress, reused, chosen, connected, sent, .. } = *second;
        let Progress::Waiting(connection) = progress else { return };
        let now = client.worker.now();
        let first = self.lease.replace(lease);
        if let Some(us) = self.timing.since_sent(now) {
            // The pool's statistics count the time since the request was first sent.
            self.pool.counters().first_byte.record(us.into());
            if let Some(first) = first {
                // The first server would have taken at least as long. Without this, a server that often
                // stalls would be rated by its quick responses only.
                first.overtaken(now, us);
                self.pool.learn_at_least(&first.server, now, Duration::from_micros(us.into()));
            }
        }
        self.connection = Some(connection);
        self.reused = reused;
        self.timing.chosen(chosen);
        self.timing.connected(connected);
        self.timing.request_sent(sent);
        self.timing.first_byte(now);
        self.partial = begun;
        self.hedge = Hedge::Alone(self.idle_until);
    }

    /// Repeats the second try on a new connection, because the server had closed the reused one. That is no
    /// failure of the server, but the pool's retry rule must permit the repetition. (Only safe requests are
    /// hedged.)
    #[cold]
    fn second_afresh(&mut self, client: &ClientSide<'_>) -> bool {
        let Hedge::Tried(second) = &mut self.hedge else { return false };
        let shared = &self.pool.shared;
        if self.retries >= shared.plan.retry.attempts {
            return false;
        }
        // The former retry is over.
        second.retrying = None;
        second.retrying = shared.take_retry_of_lost(client.worker.now());
        if second.retrying.is_none() {
            self.pool.counters().retries_denied.one();
            return false;
        }
        self.retries += 1;
        self.pool.counters().retries.one();
        second.connect(&self.pool, client);
        true
    }

    /// Begins a second try, if another server has room and the retry budget permits it.
    #[cold]
    fn try_second(&mut self, client: &ClientSide<'_>) -> Option<SecondTry> {
        let first = self.lease.as_ref()?.server.shared.slot;
        // Waiting requests come first: they have no server yet.
        if self.pool.shared.queue.length() > 0 {
            return None;
        }
        let exclude: Vec<usize> = self.tried.iter().copied().chain([first]).collect();
        let Choice::Server(lease) = self.pool.choose(client.worker, self.place.key, &exclude) else {
            return None;
        };
        // If no other server has room, the picker may choose an excluded one.
        if exclude.contains(&lease.server.shared.slot) {
            return None;
        }
        let Some(retrying) = self.pool.shared.take_hedge(client.worker.now()) else {
            self.pool.counters().retries_denied.one();
            return None;
        };
        self.pool.counters().hedges.one();
        self.hedged = Hedged::Lost;
        let now = client.worker.now();
        lease.server.note(Done::Chosen);
        let plan = &self.pool.shared.plan;
        let reusable = plan.proxy_protocol.is_none() && !self.fresh_only;
        let idle = if reusable { lease.server.take_idle(&plan.reuse, now, false) } else { None };
        let reused = idle.is_some();
        let progress = match idle {
            Some(mut connection) => {
                connection.requests += 1;
                Progress::Sending(connection, 0)
            }
            None => {
                let server = Rc::clone(&lease.server);
                let (worker, pool) = (Rc::clone(client.worker), Rc::clone(&self.pool));
                Progress::Connecting(Box::pin(connect(worker, pool, server, client.proxied)))
            }
        };
        Some(SecondTry {
            lease,
            progress,
            reused,
            is_blameless: false,
            chosen: now,
            connected: now,
            sent: now,
            retrying: Some(retrying),
        })
    }
}

impl SecondTry {
    /// Begins again with a new connection.
    fn connect(&mut self, pool: &Rc<LocalPool>, client: &ClientSide<'_>) {
        self.reused = false;
        self.chosen = client.worker.now();
        let counters = self.lease.server.counters();
        counters.retries.one();
        counters.requests.one();
        let server = Rc::clone(&self.lease.server);
        let opening = connect(Rc::clone(client.worker), Rc::clone(pool), server, client.proxied);
        self.progress = Progress::Connecting(Box::pin(opening));
    }

    /// Becomes ready with the first bytes of a response, or with `None` if there will be no response.
    fn poll(&mut self, cx: &mut Context<'_>, head: &[u8], client: &ClientSide<'_>) -> Poll<Option<Vec<u8>>> {
        loop {
            match &mut self.progress {
                Progress::Connecting(opening) => {
                    let Poll::Ready(opened) = opening.as_mut().poll(cx) else { return Poll::Pending };
                    let mut connection = match opened {
                        Ok(connection) => connection,
                        Err(error) => {
                            self.is_blameless = error.is_own();
                            return Poll::Ready(None);
                        }
                    };
                    connection.requests += 1;
                    self.connected = client.worker.now();
                    self.progress = Progress::Sending(connection, 0);
                }
                Progress::Sending(connection, sent) if *sent < head.len() => {
                    match connection.stream.poll_write(cx, &head[*sent..]) {
                        Poll::Pending => return Poll::Pending,
                        Poll::Ready(Ok(written)) if written > 0 => *sent += written,
                        Poll::Ready(_) => return Poll::Ready(None),
                    }
                }
                Progress::Sending(connection, _) => match connection.stream.poll_flush(cx) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Err(_)) => return Poll::Ready(None),
                    Poll::Ready(Ok(())) => {
                        let Progress::Sending(connection, _) =
                            std::mem::replace(&mut self.progress, Progress::Connecting(Box::pin(never())))
                        else {
                            return Poll::Ready(None);
                        };
                        self.sent = client.worker.now();
                        self.progress = Progress::Waiting(connection);
                    }
                },
                Progress::Waiting(connection) => {
                    let mut scratch = client.worker.scratch.borrow_mut();
                    return match connection.stream.poll_read(cx, &mut scratch.body()[..FIRST_READ]) {
                        Poll::Pending => Poll::Pending,
                        Poll::Ready(Ok(read)) if read > 0 => {
                            Poll::Ready(Some(client.worker.buffers.take_with(&scratch.body()[..read])))
                        }
                        Poll::Ready(_) => Poll::Ready(None),
                    };
                }
            }
        }
    }
}

/// Future that never completes; it fills the place of a connection while that is moved.
async fn never() -> Result<ServerConnection, ConnectError> {
    std::future::pending().await
}
