use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::timeout;

/// The descriptors that this process may have, and what its workers do for one another when few are left: each has idle connections of its
/// own, and only it can close them.
#[derive(Debug)]
pub struct Descriptors {
    /// From this number on few are left. The kernel gives the lowest that is free (open(2)), so whoever gets this one knows that all before
    /// it are taken, and nobody has to count.
    few_from: u64,
    limit: u64,
    /// One for each worker.
    wanted: Box<[Notify]>,
    found: Notify,
    idle_closed: AtomicU64,
}

/// Kept free for checks, names, logs, pipes and those who operate it: this many, and of small limits a smaller part.
const KEPT_FREE: u64 = 256;
const KEPT_FREE_SHARE: u64 = 16;

/// How long another worker may take to close something. It does so between two events.
const PATIENCE: Duration = Duration::from_millis(100);

impl Descriptors {
    /// `limit`: so many may be open, in so many `workers`.
    pub(crate) fn new(limit: u64, workers: usize) -> Self {
        let kept_free = KEPT_FREE.min(limit / KEPT_FREE_SHARE);
        Self {
            few_from: limit.saturating_sub(kept_free),
            limit,
            wanted: (0..workers).map(|_| Notify::new()).collect(),
            found: Notify::new(),
            idle_closed: AtomicU64::new(0),
        }
    }

    /// So many may be open.
    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    /// Idle connections to servers that were closed for want of descriptors, since the start.
    pub fn idle_closed(&self) -> u64 {
        self.idle_closed.load(Ordering::Relaxed)
    }

    /// Whether few were left when the kernel gave this one.
    pub(crate) fn are_few(&self, newest: u64) -> bool {
        newest >= self.few_from
    }

    /// Has all workers but `asking` close what they can spare.
    pub(crate) fn ask_others(&self, asking: usize) {
        for (_, wanted) in self.wanted.iter().enumerate().filter(|(thread, _)| *thread != asking) {
            wanted.notify_one();
        }
    }

    /// The same, and waits until one of them has. Whether one has.
    pub(crate) async fn get_from_others(&self, asking: usize) -> bool {
        if self.wanted.len() < 2 {
            return false;
        }
        let mut found = std::pin::pin!(self.found.notified());
        found.as_mut().enable();
        self.ask_others(asking);
        timeout(PATIENCE, found).await.is_ok()
    }

    /// Returns when another worker asks this one.
    pub(crate) async fn are_wanted_of(&self, thread: usize) {
        match self.wanted.get(thread) {
            Some(wanted) => wanted.notified().await,
            None => std::future::pending().await,
        }
    }

    /// So many idle connections to servers have been closed.
    pub(crate) fn closed(&self, count: usize) {
        self.idle_closed.fetch_add(count as u64, Ordering::Relaxed);
        self.found.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_are_kept_free_and_of_a_small_limit_no_more_than_a_part() {
        for (limit, few_from) in [(1_048_576, 1_048_320), (1_024, 960), (10, 10), (u64::MAX, u64::MAX - 256)]
        {
            let descriptors = Descriptors::new(limit, 1);
            assert!(descriptors.are_few(few_from) && !descriptors.are_few(few_from - 1), "{limit}");
        }
    }

    #[tokio::test]
    async fn whoever_asks_hears_of_what_another_worker_closes_however_soon_that_is() {
        let descriptors = Descriptors::new(100, 2);
        let closes = async {
            descriptors.are_wanted_of(1).await;
            descriptors.closed(3);
        };
        let (found, ()) = tokio::join!(descriptors.get_from_others(0), closes);
        assert_eq!((found, descriptors.idle_closed()), (true, 3));
        // Asked while it was busy: it is told all the same.
        descriptors.ask_others(0);
        descriptors.are_wanted_of(1).await;
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_for_long_for_workers_that_have_nothing_to_close() {
        assert!(!Descriptors::new(100, 2).get_from_others(0).await);
        let alone = Descriptors::new(100, 1);
        assert_eq!(timeout(Duration::ZERO, alone.get_from_others(0)).await, Ok(false));
    }
}
