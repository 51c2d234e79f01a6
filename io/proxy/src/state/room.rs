//! Limits the requests that a pool has in flight.

use std::sync::atomic::{AtomicU32, Ordering};

/// Limit of the requests that a pool as a whole may have in flight. Without a limit nothing is counted, and
/// the workers share only the fact that there is none.
#[derive(Debug)]
#[repr(align(128))]
pub struct PoolRoom {
    active: AtomicU32,
    max: AtomicU32,
}

/// Value of `max` that means "no limit".
const ANY: u32 = u32::MAX;

impl PoolRoom {
    /// Creates the state with this limit; `None` = no limit.
    pub fn new(max: Option<u32>) -> Self {
        Self { active: AtomicU32::new(0), max: AtomicU32::new(max.unwrap_or(ANY)) }
    }

    /// Changes the limit. Requests that began while there was no limit do not count against it.
    pub fn limit(&self, max: Option<u32>) {
        self.max.store(max.unwrap_or(ANY), Ordering::SeqCst);
    }

    /// Returns true if there is a limit.
    pub(crate) fn is_limited(&self) -> bool {
        self.max.load(Ordering::Relaxed) != ANY
    }

    /// Returns how many more requests may begin; `u64::MAX` = no limit.
    pub fn left(&self) -> u64 {
        match self.max.load(Ordering::SeqCst) {
            ANY => u64::MAX,
            max => max.saturating_sub(self.active.load(Ordering::SeqCst)).into(),
        }
    }

    /// Returns true if more requests are in flight than the limit permits, because it was lowered.
    pub(crate) fn is_exceeded(&self) -> bool {
        self.active.load(Ordering::SeqCst) > self.max.load(Ordering::SeqCst)
    }

    /// Claims room for one request. Returns `None` if there is none. `Some(true)` = the claim was counted and
    /// must be given back; `Some(false)` = there is no limit.
    pub(crate) fn claim(&self) -> Option<bool> {
        let max = self.max.load(Ordering::SeqCst);
        if max == ANY {
            return Some(false);
        }
        let one_more = |active: u32| (active < max).then(|| active + 1);
        let claimed = self.active.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_more);
        claimed.is_ok().then_some(true)
    }

    /// Gives back a claim that was counted.
    pub(crate) fn give_back(&self) {
        let one_less = |active: u32| active.checked_sub(1);
        let _ = self.active.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_takes_no_more_than_its_limit_and_counts_only_what_it_has_to() {
        let room = PoolRoom::new(Some(2));
        assert_eq!((room.claim(), room.claim(), room.claim()), (Some(true), Some(true), None));
        room.give_back();
        assert_eq!(room.left(), 1);
        room.limit(None);
        assert_eq!((room.claim(), room.left()), (Some(false), u64::MAX));
        room.limit(Some(1));
        assert_eq!((room.claim(), room.left()), (None, 0));
        room.give_back();
        room.give_back();
        assert_eq!(room.claim(), Some(true));
    }
}
