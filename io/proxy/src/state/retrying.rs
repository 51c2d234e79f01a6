//! Limits how many requests of a pool are retried at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Number of a pool's requests that are being retried now.
#[derive(Debug, Default)]
pub struct Retries {
    at_once: AtomicU32,
}

/// One retry in progress; dropping it decrements the number.
#[derive(Debug)]
pub(crate) struct Retrying(Arc<Retries>);

impl Retries {
    /// Begins a retry. Returns `None` if `max` retries are in progress.
    pub(crate) fn begin(self: &Arc<Self>, max: u32) -> Option<Retrying> {
        let one_more = |at_once: u32| (at_once < max).then(|| at_once + 1);
        let begun = self.at_once.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more);
        begun.is_ok().then(|| Retrying(Arc::clone(self)))
    }
}

impl Drop for Retrying {
    fn drop(&mut self) {
        self.0.at_once.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_are_tried_again_at_once_than_may_be() {
        let retries = Arc::new(Retries::default());
        let first = retries.begin(2).unwrap();
        let _second = retries.begin(2).unwrap();
        assert!(retries.begin(2).is_none());
        drop(first);
        assert!(retries.begin(2).is_some());
        assert!(retries.begin(0).is_none());
    }
}
