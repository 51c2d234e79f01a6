//! One request and its response: chooses a server, connects, moves both bodies at once, and retries if that
//! is safe.
//!
//! It is a hand-written state machine instead of an async function, because it is polled for every request
//! and must be small while it waits. The decisions are in `weir_http` and `weir_balance`; [`Pump`] moves the
//! bytes.

mod choose;
mod client_side;
mod collect;
mod hedge;
mod keep;
mod offload;
mod pace;
mod question;
mod retry;
mod transfer;

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use weir_balance::{Key, Rank, RequestClass};
use weir_http::{ChunkError, Progress};
use weir_net::service::LocalFuture;

use super::outcome::{Cut, End, Fault};
use super::request::RequestFacts;
use super::response::ResponseFacts;
use super::timing::Timing;
use crate::connect::ConnectError;
use crate::peer_progress::PeerProgress;
use crate::pump::Pump;
use crate::state::{QueueAhead, Retrying};
use crate::sticky::Bond;
use crate::worker::{Drain, Lease, LocalPool, LocalServer, Pass, QueuePlace, ServerConnection, Worker};

pub(crate) use client_side::ClientSide;
use hedge::Hedge;
pub(crate) use hedge::Hedged;
pub(crate) use offload::Offloaded;
pub(super) use pace::RateWindow;
pub(crate) use question::{PendingUpload, Question};

/// A request in progress.
pub(crate) struct Exchange {
    pub(crate) pool: Rc<LocalPool>,
    pub(crate) request: RequestFacts,
    pub(crate) timing: Timing,
    /// The rewritten head, the part of the body that was read with it, and the kept rest.
    pub(crate) head: Vec<u8>,
    head_sent: usize,
    pub(crate) upload: Pump,
    upload_state: Upload,
    /// Bytes of the upload that are in `head`. The request can be sent again while no more were read.
    upload_in_head: u64,
    /// Key for choosing a server, and rank in the queue.
    place: Place,
    /// Admission by the pool's breaker, or the time until a retry makes sense.
    pass: Result<Option<Pass>, Duration>,
    /// Position in a queue, until a server is chosen.
    queued: Option<Box<QueuePlace>>,
    /// Number of requests served while this one waited.
    pub(crate) queue_ahead: QueueAhead,
    /// Kind of work for the server, if weights are computed by it.
    pub(crate) class: Option<RequestClass>,
    /// Framing error in the first bytes of the body.
    broken: Option<ChunkError>,
    /// Binding to a server, if the pool is sticky.
    bond: Option<Box<Bond>>,
    state: State,
    lease: Option<Lease>,
    connection: Option<ServerConnection>,
    reused: bool,
    /// A reused connection failed; retry only on a new one.
    fresh_only: bool,
    /// Slots of the servers that have failed this request.
    tried: Vec<usize>,
    /// Server that failed the last try. Only the next choice shows whether the request moves to another
    /// server.
    left: Option<Rc<LocalServer>>,
    pub(crate) retries: u8,
    /// Set during a retry.
    retrying: Option<Retrying>,
    pub(crate) redispatched: bool,
    hedge: Hedge,
    pub(crate) hedged: Hedged,
    /// Bytes of an incomplete response head.
    partial: Vec<u8>,
    /// Interim heads for which the client had no room.
    unsent: Vec<u8>,
    /// Set once a part of a response went to the client. The request can then not go to another server.
    passed_on: bool,
    download: Option<Pump>,
    pub(crate) response: Option<ResponseFacts>,
    /// Bytes moved when the deadline was last set; `u64::MAX` = it is not set yet.
    moved_at_arm: u64,
    /// Bytes of ciphertext that waited at that time.
    unsent_at_arm: usize,
    /// Time by which something must move; otherwise the side that the exchange waits for is too slow.
    idle_until: Instant,
    /// Time at which the deadline was last set.
    armed_at: Instant,
    /// The client has ended its direction during the response.
    client_ended: bool,
    /// The worker's table records that the connection waits for more of the body.
    is_noted_for_body: bool,
    rate: RateWindow,
    /// Bytes that the receiving side has acknowledged, checked once its time has passed.
    progress: PeerProgress,
    /// Subrequest to the server, if the body of the request stays in this process.
    question: Option<Box<Question>>,
}

enum State {
    /// Waiting for the rest of a small body.
    Collecting,
    Choose,
    /// In a queue; `queued` is set.
    Queued,
    Connecting(Pin<Box<dyn Future<Output = Result<ServerConnection, ConnectError>>>>),
    Running,
    /// The server has accepted an upload with this status; the upload is being made visible.
    Publishing(LocalFuture<Result<(), (u16, String)>>, u16),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Upload {
    Sending,
    Done,
    /// The server no longer reads, but may have responded.
    Broken,
}

/// A request as it goes to its server.
pub(crate) struct Message {
    /// The rewritten head, and the part of the body that was read with it.
    pub(crate) head: Vec<u8>,
    /// Rest of the body.
    pub(crate) upload: Pump,
    /// Framing error in the first bytes of the body.
    pub(crate) broken: Option<ChunkError>,
    /// Binding to a server, if the pool is sticky.
    pub(crate) bond: Option<Box<Bond>>,
}

/// Key for choosing a server, and rank in the queue.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    /// Key for the algorithms that use one.
    pub(crate) key: Option<Key>,
    /// Rank among the waiting requests.
    pub(crate) rank: Rank,
}

impl Exchange {
    pub(crate) fn new(
        pool: Rc<LocalPool>,
        request: RequestFacts,
        timing: Timing,
        message: Message,
        place: Place,
    ) -> Self {
        let Message { head, upload, broken, bond } = message;
        let upload_in_head = upload.bytes_read;
        let pass = Pass::ask(&pool, timing.asked());
        pool.counters().requests.one();
        let mut exchange = Self {
            pool,
            request,
            timing,
            head,
            head_sent: 0,
            upload,
            upload_state: Upload::Sending,
            upload_in_head,
            place,
            pass,
            queued: None,
            queue_ahead: QueueAhead::default(),
            class: None,
            broken,
            bond,
            state: State::Choose,
            lease: None,
            connection: None,
            reused: false,
            fresh_only: false,
            tried: Vec::new(),
            left: None,
            retries: 0,
            retrying: None,
            redispatched: false,
            hedge: Hedge::Off,
            hedged: Hedged::No,
            partial: Vec::new(),
            unsent: Vec::new(),
            passed_on: false,
            download: None,
            response: None,
            moved_at_arm: 0,
            unsent_at_arm: 0,
            idle_until: timing.start,
            armed_at: timing.start,
            client_ended: false,
            is_noted_for_body: false,
            rate: RateWindow::default(),
            progress: PeerProgress::default(),
            question: None,
        };
        exchange.hedge = exchange.wants_hedge();
        exchange
    }

    /// Advances as far as possible. Becomes ready when the exchange has ended, successfully or not.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>, client: &mut ClientSide<'_>) -> Poll<End> {
        // In a new exchange, the clock was read just before.
        if !matches!(self.state, State::Choose) {
            client.worker.look_at_clock();
        }
        if client.worker.drain.get() == Drain::Cut {
            return Poll::Ready(End::Cut(Cut::Stopped));
        }
        loop {
            match &mut self.state {
                State::Collecting => match self.poll_collect(cx, client) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Some(end)) => return Poll::Ready(end),
                    Poll::Ready(None) => self.state = State::Choose,
                },
                State::Choose => {
                    self.note_wait_for_body(client, false);
                    if let Some(error) = self.broken.take() {
                        return Poll::Ready(End::Answer(Fault::BodyFraming(error)));
                    }
                    if self.upload.is_too_large() {
                        return Poll::Ready(End::Answer(Fault::BodyTooLarge));
                    }
                    if let Err(retry_after) = self.pass {
                        return Poll::Ready(End::Answer(Fault::BreakerOpen(retry_after)));
                    }
                    if let Err(fault) = self.choose(client) {
                        return Poll::Ready(End::Answer(fault));
                    }
                }
                State::Queued => {
                    let called = self.queued.as_mut().map(|queued| queued.poll_called(cx));
                    if let Some(Poll::Ready(ahead)) = called {
                        self.queue_ahead = ahead;
                        self.state = State::Choose;
                    } else if client.deadline.poll_expired(cx) {
                        self.pool.counters().busy.one();
                        return Poll::Ready(End::Answer(Fault::QueueTimeout));
                    } else if client.is_gone(cx, true) {
                        return Poll::Ready(End::Cut(Cut::ClientGone));
                    } else {
                        return Poll::Pending;
                    }
                }
                State::Connecting(opening) => {
                    let opened = match opening.as_mut().poll(cx) {
                        Poll::Ready(opened) => opened.map_err(Fault::Connect),
                        Poll::Pending if client.deadline.poll_expired(cx) => Err(Fault::ConnectTimeout),
                        Poll::Pending if client.is_gone(cx, true) => {
                            return Poll::Ready(End::Cut(Cut::ClientGone));
                        }
                        Poll::Pending => return Poll::Pending,
                    };
                    match opened {
                        Ok(connection) => self.run_over(connection, false, client),
                        Err(fault) => {
                            if let Some(end) = self.failed(fault, Progress::NothingWritten, client) {
                                return Poll::Ready(end);
                            }
                        }
                    }
                }
                State::Publishing(publishing, said) => match publishing.as_mut().poll(cx) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Err((status, why))) => {
                        let said = *said;
                        self.unpublished(said, client);
                        return Poll::Ready(End::Answer(Fault::Unpublished(status, why)));
                    }
                    Poll::Ready(Ok(())) => self.published(client),
                },
                State::Running => match self.poll_running(cx, client) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Some(end)) => return Poll::Ready(end),
                    Poll::Ready(None) => {}
                },
            }
        }
    }

    /// Reports the outcome of the request after all its tries to the pool's breaker. Only the first call
    /// counts.
    pub(crate) fn tell_breaker(&mut self, good: bool, now: Instant) {
        if let Ok(Some(pass)) = &mut self.pass {
            pass.end(good, now);
        }
    }

    /// Returns the lease of the server that has the request, if one was chosen.
    pub(crate) fn lease(&self) -> Option<&Lease> {
        self.lease.as_ref()
    }

    /// Takes the bytes that came from the client after this request; they belong to the next one.
    pub(crate) fn take_pipelined(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.upload.surplus)
    }

    /// Returns the number of body bytes sent to the client.
    pub(crate) fn download_bytes(&self) -> u64 {
        self.download.as_ref().map_or(0, |download| download.bytes_written)
    }

    /// Returns all buffers to the worker.
    pub(crate) fn release(&mut self, worker: &Worker) {
        worker.buffers.give(std::mem::take(&mut self.head));
        worker.buffers.give(std::mem::take(&mut self.partial));
        self.upload.release(worker);
        if let Some(download) = &mut self.download {
            download.release(worker);
        }
    }

    /// After 101: takes the server's connection, and the pump with the bytes that it has sent already.
    pub(crate) fn take_upgraded(&mut self) -> Option<(ServerConnection, Pump)> {
        Some((self.connection.take()?, self.download.take()?))
    }

    /// Returns the number of body bytes read from the server.
    pub(crate) fn download_read(&self) -> u64 {
        self.download.as_ref().map_or(0, |download| download.bytes_read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exchange_stays_small() {
        // An exchange is filled, moved and polled for every request.
        let bytes = [size_of::<Exchange>(), size_of::<Pump>()];
        assert!(bytes[0] <= 1056 && bytes[1] <= 160, "{bytes:?} bytes: something rare should be boxed");
    }
}
