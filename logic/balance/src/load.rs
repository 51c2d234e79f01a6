use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

/// What one server has to do right now, as all workers together know it.
///
/// Alone on its cache lines, or two servers' workers would slow each other down (128 bytes: the prefetcher fetches
/// lines in pairs). Changed through [`Roster::begin`](crate::Roster::begin) and [`Roster::end`](crate::Roster::end)
/// only, which keep the keys that least-connections goes by in step.
#[derive(Debug)]
#[repr(align(128))]
pub struct ServerLoad {
    active: AtomicU32,
    /// A limit that was found by measurement.
    limit: AtomicU32,
}

impl Default for ServerLoad {
    fn default() -> Self {
        Self { active: AtomicU32::new(0), limit: AtomicU32::new(u32::MAX) }
    }
}

impl ServerLoad {
    /// Requests (in TCP mode: connections) in flight.
    pub fn active(&self) -> u32 {
        // SeqCst, here and below: the tournament relies on one order of all counts and keys (see its page).
        self.active.load(SeqCst)
    }

    /// With this many requests in flight it takes no more, whatever its candidate permits; `u32::MAX` = no such limit.
    /// [`Roster::limit`](crate::Roster::limit) changes it.
    pub fn limit(&self) -> u32 {
        self.limit.load(SeqCst)
    }

    pub(crate) fn set_limit(&self, limit: u32) {
        self.limit.store(limit, SeqCst);
    }

    pub(crate) fn add_one(&self) {
        self.active.fetch_add(1, SeqCst);
    }

    /// Counts one more unless that would be more than `max`.
    pub(crate) fn add_one_within(&self, max: u32) -> bool {
        self.active.fetch_update(SeqCst, SeqCst, |active| (active < max).then(|| active + 1)).is_ok()
    }

    /// One too many must not wrap around: a server with four billion requests would never be chosen again.
    pub(crate) fn remove_one(&self) {
        let _ = self.active.fetch_update(SeqCst, SeqCst, |active| active.checked_sub(1));
    }
}
