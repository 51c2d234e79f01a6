//! Measurements of a server, each kept lock-free, in O(1) and without allocation.
//!
//! The times of a [`Moment`] count from a start that all workers share; the caller supplies the current time.

mod average;
mod peak;
mod traffic;
mod waiting;
mod watch;

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

pub(crate) use average::Average;
pub(crate) use peak::{PeakAverage, Seen};
pub(crate) use traffic::TrafficWindow;
pub(crate) use waiting::Waiting;
pub(crate) use watch::Wants;
pub use watch::Watch;

/// All measurements of one server. Those that its pool's algorithm does not need stay unused. The window,
/// which is longer than a cache line, comes after all others.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Measures {
    /// Time until the response's head.
    pub(crate) head: Average,
    /// Time until the response's last byte.
    pub(crate) whole: Average,
    /// Time for which the waiting requests have waited.
    pub(crate) waiting: Waiting,
    /// Time from the request's last byte to the response's first byte, with its peaks.
    pub(crate) peak: PeakAverage,
    /// Second from which the server's idle time counts (NGINX: `checked`).
    fresh_at_s: AtomicU32,
    /// Bytes in both directions.
    pub(crate) traffic: TrafficWindow,
}

/// The moment of a computation.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Moment {
    /// Milliseconds since the shared start.
    pub(crate) now_ms: u64,
    /// Requests that the pool has assigned so far; wraps at 2^32.
    pub(crate) picks: u32,
}

impl Measures {
    /// Records that the server was chosen. Only the first choice in a span of idle time counts, as with
    /// NGINX's `checked`.
    pub(crate) fn chosen(&self, now_ms: u64, forgive_s: u32) {
        let now_s = seconds(now_ms);
        if now_s.saturating_sub(self.fresh_at_s.load(Relaxed)) > forgive_s {
            self.fresh_at_s.store(now_s, Relaxed);
        }
    }

    /// Returns how often the averages were halved: once for each span of `forgive_s` plus one second of idle
    /// time.
    pub(crate) fn halvings(&self, now_ms: u64, forgive_s: u32) -> u32 {
        let idle_s = seconds(now_ms).saturating_sub(self.fresh_at_s.load(Relaxed));
        if idle_s > forgive_s { idle_s / forgive_s.saturating_add(1) } else { 0 }
    }
}

fn seconds(ms: u64) -> u32 {
    u32::try_from(ms / 1_000).unwrap_or(u32::MAX)
}
