//! One request and its response: chooses a server, connects, moves both bodies at once, tries again where that is safe.
//!
//! A hand-written state machine rather than an async function, because it is polled for every request and must be
//! small while it waits. Decisions are in `weir_http`, `weir_balance`; the bytes are moved by [`Pump`].

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

/// A request on its way.
pub(crate) struct Exchange {
    pub(crate) pool: Rc<LocalPool>,
    pub(crate) request: RequestFacts,
    pub(crate) timing: Timing,
    /// The rewritten head, what was read of the body with it, and what is kept of the rest.
    pub(crate) head: Vec<u8>,
    head_sent: usize,
    pub(crate) upload: Pump,
    upload_state: Upload,
    /// Bytes of the upload that are in `head`: the request can be sent again while no more were read.
    upload_in_head: u64,
    /// How it stands towards the pool's servers, and towards the others who want one.
    place: Place,
    /// What the pool's breaker says to it.
    pass: Result<Option<Pass>, Duration>,
    /// Its place in a queue, until a server is chosen.
    queued: Option<Box<QueuePlace>>,
    /// How many were served while it waited.
    pub(crate) queue_ahead: QueueAhead,
    /// What it makes a server do, where weights are found by that.
    pub(crate) class: Option<RequestClass>,
    /// What is wrong with the body's first bytes.
    broken: Option<ChunkError>,
    /// Which server it is bound to, where the pool is sticky.
    bond: Option<Box<Bond>>,
    state: State,
    lease: Option<Lease>,
    connection: Option<ServerConnection>,
    reused: bool,
    /// An idle connection has let this request down.
    fresh_only: bool,
    /// Servers that failed this request already.
    tried: Vec<usize>,
    /// The server that failed the last try; whether the request leaves it is seen when another is chosen.
    left: Option<Rc<LocalServer>>,
    pub(crate) retries: u8,
    /// While it is being tried again.
    retrying: Option<Retrying>,
    pub(crate) redispatched: bool,
    hedge: Hedge,
    pub(crate) hedged: Hedged,
    /// Bytes of a response head that has not all come.
    partial: Vec<u8>,
    /// Interim heads that the client had no room for.
    unsent: Vec<u8>,
    /// Something of a response went to the client: from then on it is that server's.
    passed_on: bool,
    download: Option<Pump>,
    pub(crate) response: Option<ResponseFacts>,
    /// Bytes moved when the deadline was last set; `u64::MAX` = it is yet to be set.
    moved_at_arm: u64,
    /// Bytes of ciphertext that waited then.
    unsent_at_arm: usize,
    /// Without any movement until then, somebody is too slow.
    idle_until: Instant,
    /// When the deadline was last set.
    armed_at: Instant,
    /// The client has ended its direction within the response.
    client_ended: bool,
    /// The worker's table has it that more of the body is waited for.
    is_noted_for_body: bool,
    rate: RateWindow,
    /// What whoever is to take bytes has acknowledged, once the time for that has passed.
    progress: PeerProgress,
    /// What its server is asked, if the body of the request stays here.
    question: Option<Box<Question>>,
}

enum State {
    /// The rest of a small body is awaited.
    Collecting,
    Choose,
    /// In a queue: `queued` is there.
    Queued,
    Connecting(Pin<Box<dyn Future<Output = Result<ServerConnection, ConnectError>>>>),
    Running,
    /// Its server has said yes to an upload, with this status; it is being made visible.
    Publishing(LocalFuture<Result<(), (u16, String)>>, u16),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Upload {
    Sending,
    Done,
    /// The server no longer reads; it may have answered nonetheless.
    Broken,
}

/// A request as it goes to its server.
pub(crate) struct Message {
    /// The rewritten head, and what was read of the body with it.
    pub(crate) head: Vec<u8>,
    /// The rest of the body.
    pub(crate) upload: Pump,
    /// What is wrong with the body's first bytes.
    pub(crate) broken: Option<ChunkError>,
    /// Which server it is bound to, where the pool is sticky.
    pub(crate) bond: Option<Box<Bond>>,
}

/// How a request stands towards the servers of its pool, and towards the others who want one.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    /// What it goes by, for algorithms that ask.
    pub(crate) key: Option<Key>,
    /// Where it stands among those who wait.
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

    /// Goes on as far as it can. Ready when the exchange has ended, one way or another.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>, client: &mut ClientSide<'_>) -> Poll<End> {
        // One that has only just begun did so at a look at the clock.
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

    /// Tells the pool's breaker what became of the request after all its tries; only the first word counts.
    pub(crate) fn tell_breaker(&mut self, good: bool, now: Instant) {
        if let Ok(Some(pass)) = &mut self.pass {
            pass.end(good, now);
        }
    }

    /// The server that has the request, if one was chosen.
    pub(crate) fn lease(&self) -> Option<&Lease> {
        self.lease.as_ref()
    }

    /// Bytes that came from the client behind this request: the next one's.
    pub(crate) fn take_pipelined(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.upload.surplus)
    }

    /// Bytes of the body that went to the client.
    pub(crate) fn download_bytes(&self) -> u64 {
        self.download.as_ref().map_or(0, |download| download.bytes_written)
    }

    /// Gives all buffers back.
    pub(crate) fn release(&mut self, worker: &Worker) {
        worker.buffers.give(std::mem::take(&mut self.head));
        worker.buffers.give(std::mem::take(&mut self.partial));
        self.upload.release(worker);
        if let Some(download) = &mut self.download {
            download.release(worker);
        }
    }

    /// After 101: the server's connection, and what it has sent already.
    pub(crate) fn take_upgraded(&mut self) -> Option<(ServerConnection, Pump)> {
        Some((self.connection.take()?, self.download.take()?))
    }

    /// Bytes of the body that came from the server.
    pub(crate) fn download_read(&self) -> u64 {
        self.download.as_ref().map_or(0, |download| download.bytes_read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exchange_stays_small() {
        // It is filled, moved and looked through for every request.
        let bytes = [size_of::<Exchange>(), size_of::<Pump>()];
        assert!(bytes[0] <= 1056 && bytes[1] <= 160, "{bytes:?} bytes: something rare should be boxed");
    }
}
