//! Limits how long a response of a service may stand still, and decides which side is at fault.

use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use weir_http::access_log::{Cause, Phase};

use crate::http::connection::Connection;
use crate::http::exchange::RateWindow;
use crate::http::outcome::Fault;
use crate::peer_progress::PeerProgress;
use crate::worker::Drain;

/// Interval of the checks for a disconnected client while a service works. The service itself has no time
/// limit.
const LOOK: Duration = Duration::from_secs(1);

/// Time limits of one request.
#[derive(Default)]
pub(super) struct Pace {
    /// Time by which the client must move bytes; `None` = it is not waited for.
    idle_until: Option<Instant>,
    moved: u64,
    rate: RateWindow,
    /// Bytes that the client has acknowledged, checked once its time has passed.
    progress: PeerProgress,
    /// The worker's table records that the connection waits for more of the body.
    is_noted_for_body: bool,
}

/// Side that is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WaitsFor {
    /// The client, to take bytes or to send an unwanted rest.
    Client,
    /// The client, to send more of the body.
    Body,
    /// The service, to produce bytes.
    Service,
    /// The rate limit; nothing more may be sent before this time.
    Clock(Instant),
}

/// Reason why waiting for a response, or sending it, ends.
#[derive(Debug)]
pub(super) enum Halt {
    /// The process stops, and its deadline has passed.
    Stopped,
    /// The client disconnected.
    ClientGone,
    /// The client neither sends nor takes bytes in time.
    ClientTimeout,
    /// The request or the service failed.
    Fault(Fault),
}

impl Pace {
    /// Becomes ready when the wait must end. `moved` counts the bytes that the client has sent or taken.
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
        // Unread bytes can hide that the client is gone, so every turn checks the socket.
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
