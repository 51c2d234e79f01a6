//! What is measured of a server, and how each figure is kept: lock-free, O(1), without allocation.
//!
//! Times of a [`Moment`] count from a start that all workers share; the caller says how late it is.

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

/// Everything measured of one server. What its pool's algorithm does not ask for stays untouched. The window, which is longer
/// than a cache line, stands behind all others.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Measures {
    /// Until the response's head.
    pub(crate) head: Average,
    /// Until the response's last byte.
    pub(crate) whole: Average,
    /// How long those have waited that wait.
    pub(crate) waiting: Waiting,
    /// From the request's last byte to the response's first, with its peaks.
    pub(crate) peak: PeakAverage,
    /// The second from which its idleness counts (NGINX: `checked`).
    fresh_at_s: AtomicU32,
    /// Bytes both ways.
    pub(crate) traffic: TrafficWindow,
}

/// When something is worked out.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Moment {
    /// Milliseconds since the shared start.
    pub(crate) now_ms: u64,
    /// Requests that the pool has given out so far, come round at 2^32.
    pub(crate) picks: u32,
}

impl Measures {
    /// It has been chosen. Within one span of idleness only the first choice counts: NGINX sets `checked` so.
    pub(crate) fn chosen(&self, now_ms: u64, forgive_s: u32) {
        let now_s = seconds(now_ms);
        if now_s.saturating_sub(self.fresh_at_s.load(Relaxed)) > forgive_s {
            self.fresh_at_s.store(now_s, Relaxed);
        }
    }

    /// How often its averages have been forgiven by half: once for each span that it has been idle, and a second.
    pub(crate) fn halvings(&self, now_ms: u64, forgive_s: u32) -> u32 {
        let idle_s = seconds(now_ms).saturating_sub(self.fresh_at_s.load(Relaxed));
        if idle_s > forgive_s { idle_s / forgive_s.saturating_add(1) } else { 0 }
    }
}

fn seconds(ms: u64) -> u32 {
    u32::try_from(ms / 1_000).unwrap_or(u32::MAX)
}
