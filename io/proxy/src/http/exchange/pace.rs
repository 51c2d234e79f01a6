//! How long an exchange may stand still, and whose fault it is when it does.

use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use weir_config::plan::ClientTimeouts;

use super::{ClientSide, Exchange, Upload};
use crate::http::outcome::{Cut, End, Fault};
use crate::peer_progress::PeerProgress;
use crate::pump::Pump;

/// A client that was never waited for is not watched by the event loop. If its server takes longer than this, it is
/// looked at: it may have gone.
const FIRST_LOOK: Duration = Duration::from_secs(1);

/// A response that stands still for so long has paused.
const PAUSE: Duration = Duration::from_secs(1);

/// A batch of a large body that is not complete after this long (or a tick of the timers later) is passed on as it is.
const BATCH_WAIT_MAX: Duration = Duration::from_millis(10);

/// Watches the minimum rate of bodies.
#[derive(Default)]
pub(in crate::http) struct RateWindow {
    started: Option<Instant>,
    bytes: u64,
    /// What the client had not acknowledged when it started; `None` = not looked at: what was written counts as taken.
    undelivered: Option<u32>,
}

impl Exchange {
    /// Nothing can move now: keeps the deadline in step with what has moved since, and sees whether it has passed.
    pub(super) fn wait(&mut self, cx: &mut Context<'_>, client: &mut ClientSide<'_>) -> Poll<Option<End>> {
        let moved = self.moved();
        if moved != self.moved_at_arm || self.unsent_bytes() != self.unsent_at_arm {
            self.arm(client);
            if let Some(lease) = &self.lease {
                lease.moved(client.worker.now(), self.server_bytes());
            }
        }
        let expired = client.deadline.poll_expired(cx);
        if self.is_left_by(client, cx, expired) {
            return Poll::Ready(Some(End::Cut(Cut::ClientGone)));
        }
        if !expired {
            return Poll::Pending;
        }
        let now = client.worker.now();
        if let (Some(download), Some(connection)) = (&mut self.download, &self.connection)
            && download.is_in_bulk()
            && !download.waits_for_sink()
        {
            download.leave_bulk(&connection.stream);
        }
        let timeouts = client.listener.timeouts();
        let gives_way = self.is_noted_for_body && client.gives_way();
        if gives_way {
            client.listener.counters(client.worker).connections_denied.one();
        }
        if now >= self.idle_until && !gives_way {
            self.give_time_for_progress(client);
        }
        let undelivered = || client.stream.socket().undelivered_bytes();
        let has_time =
            now < self.idle_until && !self.rate.is_too_low(now, self.body_bytes(), undelivered, timeouts);
        if has_time && !gives_way {
            let limit = self.rate_check(now, timeouts);
            let look = self.until_hedge(now).min(self.until_pause(now));
            client.deadline.arm(now, (self.idle_until - now).min(limit).min(look));
            return if client.deadline.poll_expired(cx) { self.wait(cx, client) } else { Poll::Pending };
        }
        Poll::Ready(match (&self.download, self.upload_state) {
            (Some(download), _) if download.waits_for_sink() => Some(End::Cut(Cut::ClientTimeout)),
            (None, _) if !self.unsent.is_empty() => Some(End::Cut(Cut::ClientTimeout)),
            // The server may wait for the rest of the request before it goes on.
            (Some(_), Upload::Sending) if !self.waits_for_server() => Some(End::Cut(Cut::ClientTimeout)),
            (Some(_), _) => {
                self.count_failure(true);
                Some(End::Cut(Cut::ServerTimeout))
            }
            (None, Upload::Sending) if !self.waits_for_server() => Some(End::Answer(Fault::BodyTimeout)),
            (None, _) => {
                let progress = self.progress();
                self.failed(Fault::ResponseTimeout, progress, client)
            }
        })
    }

    /// Returns whether the client does not wait any more. While the rest of its request is read, that tells.
    fn is_left_by(&mut self, client: &ClientSide<'_>, cx: &mut Context<'_>, surely: bool) -> bool {
        let reads_on = self.upload_state == Upload::Sending && !self.upload.is_read();
        let gives = self.download.as_ref().is_some_and(Pump::waits_for_sink) || !self.unsent.is_empty();
        match () {
            () if reads_on && !self.waits_for_server() => false,
            () if gives => client.is_broken(cx, surely),
            () if !client.is_gone(cx, surely) => false,
            () if self.download.is_none() || client.is_broken(cx, surely) => true,
            () => self.has_paused_since_end(client),
        }
    }

    /// The client has ended its direction within the response. If it has closed, the next bytes that it gets break the connection; so
    /// that only a server that pauses keeps that from being seen.
    #[cold]
    fn has_paused_since_end(&mut self, client: &ClientSide<'_>) -> bool {
        if !std::mem::replace(&mut self.client_ended, true) {
            self.arm(client);
        }
        client.worker.now().saturating_duration_since(self.armed_at) >= PAUSE
    }

    /// How long a response must still pause for its client to count as gone, where that has ended its direction.
    fn until_pause(&self, now: Instant) -> Duration {
        let left = PAUSE.saturating_sub(now.saturating_duration_since(self.armed_at));
        if self.client_ended && !left.is_zero() { left } else { Duration::MAX }
    }

    pub(super) fn arm(&mut self, client: &ClientSide<'_>) {
        let now = client.worker.now();
        let clients = client.listener.timeouts();
        let after = self.time_limit(client);
        let after = match self.alone_until() {
            Some(by) if self.download.is_none() => after.min(by.saturating_duration_since(now)),
            _ => after,
        };
        self.progress = PeerProgress::default();
        self.moved_at_arm = self.moved();
        self.unsent_at_arm = self.unsent_bytes();
        let limit = self.rate_check(now, clients);
        let look = if client.stream.socket().is_watched() { Duration::MAX } else { FIRST_LOOK };
        let in_bulk = self.download.as_ref().is_some_and(|it| it.is_in_bulk() && !it.waits_for_sink());
        let batch = if in_bulk { BATCH_WAIT_MAX } else { Duration::MAX };
        self.idle_until = now + after;
        self.armed_at = now;
        self.note_wait_for_body(client, self.waits_for_body());
        let look = look.min(self.until_pause(now));
        let until = after.min(limit).min(look).min(batch).min(self.until_hedge(now));
        client.deadline.arm(now, until);
    }

    /// How long whoever is waited for may move nothing.
    fn time_limit(&self, client: &ClientSide<'_>) -> Duration {
        let servers = &self.pool.shared.plan.timeouts;
        let clients = client.listener.timeouts();
        let limit = match (&self.download, self.upload_state) {
            (Some(download), _) if download.waits_for_sink() => clients.body,
            (None, _) if !self.unsent.is_empty() => clients.body,
            (Some(_), Upload::Sending) if !self.waits_for_server() => clients.body,
            (Some(_), _) => servers.idle,
            // The server has no room for what is there.
            (None, Upload::Sending) if self.waits_for_server() => servers.idle,
            (None, Upload::Sending) => clients.body,
            (None, _) => servers.response,
        };
        limit.duration()
    }

    /// The time limit has passed: what the one that is to take bytes has acknowledged counts, too.
    #[cold]
    fn give_time_for_progress(&mut self, client: &ClientSide<'_>) {
        let limit = self.time_limit(client);
        let gives = self.download.as_ref().is_some_and(Pump::waits_for_sink) || !self.unsent.is_empty();
        let takes_upload = self.upload_state == Upload::Sending && self.waits_for_server();
        let socket = match &self.connection {
            _ if gives => client.stream.socket(),
            Some(connection) if takes_upload => connection.stream.socket(),
            _ => return,
        };
        if let Some(more) = self.progress.more_time(socket, limit) {
            self.idle_until = client.worker.now() + more;
        }
    }

    /// The deadline is set as soon as somebody has to be waited for, in this turn: whatever it is now does not count.
    pub(super) fn arm_when_waiting(&mut self) {
        // So much never moves.
        self.moved_at_arm = u64::MAX;
    }

    /// When the rate of the bodies is to be judged next. While the client is not waited for, it is not.
    fn rate_check(&mut self, now: Instant, timeouts: &ClientTimeouts) -> Duration {
        if !self.waits_for_client() {
            self.rate = RateWindow::default();
            return Duration::MAX;
        }
        self.rate.next_check(now, self.body_bytes(), timeouts)
    }

    /// Bytes of bodies that the client has sent or taken.
    fn body_bytes(&self) -> u64 {
        self.upload.bytes_read + self.download_bytes()
    }

    /// Bytes that a TLS session has taken, and its peer has not: they go out without any other movement.
    fn unsent_bytes(&self) -> usize {
        self.upload.sink_unsent() + self.download.as_ref().map_or(0, Pump::sink_unsent)
    }

    /// Some of the request is here that the server has not taken yet.
    fn waits_for_server(&self) -> bool {
        !self.is_collecting() && (self.upload.waits_for_sink() || self.head_sent < self.head.len())
    }

    /// Returns whether it is the client that has to send or to take something.
    fn waits_for_client(&self) -> bool {
        let gives = self.download.as_ref().is_some_and(Pump::waits_for_sink) || !self.unsent.is_empty();
        gives || self.upload_state == Upload::Sending && !self.upload.is_read() && !self.waits_for_server()
    }

    /// Returns whether nothing can move before the client has sent more of the body.
    fn waits_for_body(&self) -> bool {
        let gives = self.download.as_ref().is_some_and(Pump::waits_for_sink) || !self.unsent.is_empty();
        let reads = self.upload_state == Upload::Sending && !self.upload.is_read();
        reads && !gives && !self.waits_for_server()
    }

    /// Tells the worker's table whether more of the body is waited for from now on. Where there are no more connections, such a request
    /// gives way.
    #[inline]
    pub(super) fn note_wait_for_body(&mut self, client: &ClientSide<'_>, waits: bool) {
        if waits {
            client.worker.table.waits_for_body(client.number, client.worker.now_ms());
        } else if self.is_noted_for_body {
            client.worker.table.is_busy(client.number);
        }
        self.is_noted_for_body = waits;
    }

    /// Bytes that went to the server and came from it, as far as its heads are not concerned.
    pub(crate) fn server_bytes(&self) -> u64 {
        self.head_sent as u64 + self.upload.bytes_written + self.download_read()
    }

    pub(super) fn moved(&self) -> u64 {
        // Interim heads that wait count, so that a change of who is waited for is seen.
        let up =
            (self.head_sent + self.unsent.len()) as u64 + self.upload.bytes_read + self.upload.bytes_written;
        up + self.download.as_ref().map_or(0, |down| down.bytes_read + down.bytes_written)
    }
}

impl RateWindow {
    /// When the rate is to be judged next, seen from `now`.
    pub(in crate::http) fn next_check(
        &mut self,
        now: Instant,
        moved: u64,
        timeouts: &ClientTimeouts,
    ) -> Duration {
        if timeouts.body_bytes_per_second_min == 0 {
            return Duration::MAX;
        }
        let started = *self.started.get_or_insert_with(|| {
            (self.bytes, self.undelivered) = (moved, None);
            now
        });
        self.length(timeouts)
            .saturating_sub(now.saturating_duration_since(started))
            .max(Duration::from_millis(1))
    }

    /// Whether a full window has passed with too few bytes; starts the next one if it had enough. `undelivered`: what the client has not
    /// acknowledged of all that was written. Where too little was written, the next window goes by that: a large buffer may have no room
    /// for longer than a window, although the client takes from it.
    pub(in crate::http) fn is_too_low(
        &mut self,
        now: Instant,
        moved: u64,
        undelivered: impl FnOnce() -> u32,
        timeouts: &ClientTimeouts,
    ) -> bool {
        let (Some(started), min) = (self.started, timeouts.body_bytes_per_second_min) else { return false };
        let elapsed = now.saturating_duration_since(started);
        if min == 0 || elapsed < self.length(timeouts) {
            return false;
        }
        let is_low = |bytes: u64| (bytes as f64) < min as f64 * elapsed.as_secs_f64();
        let written = moved.saturating_sub(self.bytes);
        (self.started, self.bytes) = (Some(now), moved);
        let before = self.undelivered.take();
        if !is_low(written) {
            return false;
        }
        let undelivered = undelivered();
        self.undelivered = Some(undelivered);
        match before {
            None => undelivered == 0,
            Some(before) => is_low((written + u64::from(before)).saturating_sub(undelivered.into())),
        }
    }

    /// A window in which acknowledgements are counted comes after one with too few bytes, and is shorter.
    fn length(&self, timeouts: &ClientTimeouts) -> Duration {
        let window = timeouts.body.duration();
        if self.undelivered.is_some() { window / 4 } else { window }
    }
}
