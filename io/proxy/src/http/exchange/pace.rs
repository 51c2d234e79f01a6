//! Limits how long an exchange may stand still, and decides which side is at fault.

use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use weir_config::plan::ClientTimeouts;

use super::{ClientSide, Exchange, Upload};
use crate::http::outcome::{Cut, End, Fault};
use crate::peer_progress::PeerProgress;
use crate::pump::Pump;

/// Time after which a client whose socket is not watched by the event loop is checked for a disconnect.
const FIRST_LOOK: Duration = Duration::from_secs(1);

/// Time without movement after which a response counts as paused.
const PAUSE: Duration = Duration::from_secs(1);

/// Time after which an incomplete batch of a large body is forwarded as it is (plus up to one timer tick).
const BATCH_WAIT_MAX: Duration = Duration::from_millis(10);

/// Window in which the minimum rate of bodies is checked.
#[derive(Default)]
pub(in crate::http) struct RateWindow {
    started: Option<Instant>,
    bytes: u64,
    /// Bytes that the client had not acknowledged at the start; `None` = not checked, so written bytes count
    /// as taken.
    undelivered: Option<u32>,
}

impl Exchange {
    /// Sets the deadline again after movement and checks whether it has passed. Called when nothing can move.
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
            // The server may wait for the rest of the request before it continues.
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

    /// Returns true if the client no longer waits. While the rest of its request is read, the read detects
    /// that.
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

    /// Returns true if the response has paused after the client ended its direction. If the client has
    /// closed, the next bytes to it break the connection. Only a pausing server prevents that detection.
    #[cold]
    fn has_paused_since_end(&mut self, client: &ClientSide<'_>) -> bool {
        if !std::mem::replace(&mut self.client_ended, true) {
            self.arm(client);
        }
        client.worker.now().saturating_duration_since(self.armed_at) >= PAUSE
    }

    /// Returns how long the response must still pause until a client that has ended its direction counts as
    /// gone.
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

    /// Returns how long the side that the exchange waits for may move nothing.
    fn time_limit(&self, client: &ClientSide<'_>) -> Duration {
        let servers = &self.pool.shared.plan.timeouts;
        let clients = client.listener.timeouts();
        let limit = match (&self.download, self.upload_state) {
            (Some(download), _) if download.waits_for_sink() => clients.body,
            (None, _) if !self.unsent.is_empty() => clients.body,
            (Some(_), Upload::Sending) if !self.waits_for_server() => clients.body,
            (Some(_), _) => servers.idle,
            // The server has no room for the received bytes.
            (None, Upload::Sending) if self.waits_for_server() => servers.idle,
            (None, Upload::Sending) => clients.body,
            (None, _) => servers.response,
        };
        limit.duration()
    }

    /// Extends the time limit if the receiving side has acknowledged bytes.
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

    /// Defers the deadline: it is set when the exchange first has to wait. The present deadline does not
    /// count.
    pub(super) fn arm_when_waiting(&mut self) {
        // No exchange moves this many bytes, so the first wait sets the deadline.
        self.moved_at_arm = u64::MAX;
    }

    /// Returns the time until the next check of the rate. While the exchange does not wait for the client,
    /// the rate is not checked.
    fn rate_check(&mut self, now: Instant, timeouts: &ClientTimeouts) -> Duration {
        if !self.waits_for_client() {
            self.rate = RateWindow::default();
            return Duration::MAX;
        }
        self.rate.next_check(now, self.body_bytes(), timeouts)
    }

    /// Returns the number of body bytes that the client has sent or taken.
    fn body_bytes(&self) -> u64 {
        self.upload.bytes_read + self.download_bytes()
    }

    /// Returns the bytes that a TLS session has taken and its peer has not. They go out without any other
    /// movement.
    fn unsent_bytes(&self) -> usize {
        self.upload.sink_unsent() + self.download.as_ref().map_or(0, Pump::sink_unsent)
    }

    /// Returns true if bytes of the request wait to be taken by the server.
    fn waits_for_server(&self) -> bool {
        !self.is_collecting() && (self.upload.waits_for_sink() || self.head_sent < self.head.len())
    }

    /// Returns true if the client must send or take something next.
    fn waits_for_client(&self) -> bool {
        let gives = self.download.as_ref().is_some_and(Pump::waits_for_sink) || !self.unsent.is_empty();
        gives || self.upload_state == Upload::Sending && !self.upload.is_read() && !self.waits_for_server()
    }

    /// Returns true if nothing can move before the client has sent more of the body.
    fn waits_for_body(&self) -> bool {
        let gives = self.download.as_ref().is_some_and(Pump::waits_for_sink) || !self.unsent.is_empty();
        let reads = self.upload_state == Upload::Sending && !self.upload.is_read();
        reads && !gives && !self.waits_for_server()
    }

    /// Records in the worker's table whether the connection waits for more of the body. Such a connection may
    /// be closed when no more connections are permitted.
    #[inline]
    pub(super) fn note_wait_for_body(&mut self, client: &ClientSide<'_>, waits: bool) {
        if waits {
            client.worker.table.waits_for_body(client.number, client.worker.now_ms());
        } else if self.is_noted_for_body {
            client.worker.table.is_busy(client.number);
        }
        self.is_noted_for_body = waits;
    }

    /// Returns the bytes sent to the server and received from it, without the response heads.
    pub(crate) fn server_bytes(&self) -> u64 {
        self.head_sent as u64 + self.upload.bytes_written + self.download_read()
    }

    pub(super) fn moved(&self) -> u64 {
        // Waiting interim heads count, so that a change of the side to wait for is detected.
        let up =
            (self.head_sent + self.unsent.len()) as u64 + self.upload.bytes_read + self.upload.bytes_written;
        up + self.download.as_ref().map_or(0, |down| down.bytes_read + down.bytes_written)
    }
}

impl RateWindow {
    /// Returns the time from `now` to the next check of the rate.
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

    /// Returns true if a full window has passed with too few bytes; starts the next window if it had enough.
    /// `undelivered` returns the written bytes that the client has not acknowledged. If too little was
    /// written, the next window counts acknowledged bytes: a large buffer may stay full for longer than a
    /// window although the client reads from it.
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

    /// Returns the length of the window. A window that counts acknowledgements follows one with too few
    /// bytes, and is shorter.
    fn length(&self, timeouts: &ClientTimeouts) -> Duration {
        let window = timeouts.body.duration();
        if self.undelivered.is_some() { window / 4 } else { window }
    }
}
