//! How long an answer may stand still, and whose fault it is when it does.

use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use weir_http::access_log::{Cause, Phase};

use crate::http::connection::Connection;
use crate::http::exchange::RateWindow;
use crate::http::outcome::Fault;
use crate::peer_progress::PeerProgress;
use crate::worker::Drain;

/// While a service is at work, its client is looked at so often: it may have gone. The service itself may take its time.
const LOOK: Duration = Duration::from_secs(1);

/// Keeps the time of one request.
#[derive(Default)]
pub(super) struct Pace {
    /// Without any movement until then the client is too slow; `None` = it is not waited for.
    idle_until: Option<Instant>,
    moved: u64,
    rate: RateWindow,
    /// What the client has acknowledged, once the time to take something has passed.
    progress: PeerProgress,
    /// The worker's table has it that more of the body is waited for.
    is_noted_for_body: bool,
}

/// Who is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WaitsFor {
    /// To take bytes, or to send a rest that nobody wants.
    Client,
    /// To send more of the body.
    Body,
    /// To make them.
    Service,
    /// Until then nothing more may be sent.
    Clock(Instant),
}

/// Why an answer is not waited for, or not sent, any longer.
#[derive(Debug)]
pub(super) enum Halt {
    /// The process stops, and its deadline has passed.
    Stopped,
    /// The client went away.
    ClientGone,
    /// The client does not send, or does not take anything.
    ClientTimeout,
    /// Something is wrong.
    Fault(Fault),
}

impl Pace {
    /// Ready when nobody may wait any longer. `moved` counts the bytes that the client has sent or taken.
    pub(super) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        connection: &Connection,
        moved: u64,
        waits_for: WaitsFor,
    ) -> Poll<Halt> {
        let worker = &connection.worker;
        if worker.drain.get() == Drain::Cut {
            return Poll::Ready(Halt::Stopped);
        }
        let now = worker.now();
        let timeouts = connection.listener.timeouts();
        let mut wait = LOOK;
        if self.is_noted_for_body && waits_for != WaitsFor::Body {
            connection.waits_for_body(false);
            self.is_noted_for_body = false;
        }
        match waits_for {
            WaitsFor::Service | WaitsFor::Clock(_) => {
                self.idle_until = None;
                self.rate = RateWindow::default();
                if let WaitsFor::Clock(until) = waits_for {
                    wait = wait.min(until.saturating_duration_since(now));
                }
            }
            WaitsFor::Client | WaitsFor::Body => {
                let until = match self.idle_until {
                    Some(until) if moved == self.moved => until,
                    _ => {
                        if waits_for == WaitsFor::Body {
                            connection.waits_for_body(true);
                            self.is_noted_for_body = true;
                        }
                        self.progress = PeerProgress::default();
                        now + timeouts.body.duration()
                    }
                };
                let socket = connection.stream.socket();
                let more = match waits_for {
                    WaitsFor::Client if now >= until => {
                        self.progress.more_time(socket, timeouts.body.duration())
                    }
                    _ => None,
                };
                let until = more.map_or(until, |more| now + more);
                self.idle_until = Some(until);
                if self.is_noted_for_body && moved == self.moved && connection.gives_way() {
                    connection.listener.counters(worker).connections_denied.one();
                    return Poll::Ready(Halt::ClientTimeout);
                }
                self.moved = moved;
                let undelivered = || socket.undelivered_bytes();
                if now >= until || self.rate.is_too_low(now, moved, undelivered, timeouts) {
                    return Poll::Ready(Halt::ClientTimeout);
                }
                wait = wait.min(until - now).min(self.rate.next_check(now, moved, timeouts));
            }
        }
        connection.deadline.arm(now, wait);
        if connection.deadline.poll_expired(cx) {
            cx.waker().wake_by_ref();
        }
        // What cannot be read must not hide that the client has gone, so that it is looked for at every turn.
        if connection.stream.socket().is_broken(cx) { Poll::Ready(Halt::ClientGone) } else { Poll::Pending }
    }
}

impl Halt {
    pub(super) fn cause(&self) -> Cause {
        match self {
            Self::Stopped => Cause::Killed,
            Self::ClientGone => Cause::Client,
            Self::ClientTimeout => Cause::ClientTimeout,
            Self::Fault(_) => Cause::Server,
        }
    }

    pub(super) fn phase(&self, has_begun: bool) -> Phase {
        if has_begun { Phase::Data } else { Phase::Head }
    }
}
