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

    /// How many workers there are.
    pub(crate) fn workers(&self) -> usize {
        self.wanted.len()
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

    /// The same, and waits until some worker has, but no longer than `patience`.
    pub(crate) async fn get_from_others(&self, asking: usize, patience: Duration) {
        // Hears of what is closed from here on.
        let found = self.found.notified();
        self.ask_others(asking);
        let _ = timeout(patience, found).await;
    }

    /// Returns when another worker asks this one.
    pub(crate) async fn are_wanted_of(&self, thread: usize) {
        match self.wanted.get(thread) {
            Some(wanted) => wanted.notified().await,
            None => std::future::pending().await,
        }
    }

    /// Something has been closed, of it so many idle connections to servers.
    pub(crate) fn closed(&self, idle: usize) {
        self.idle_closed.fetch_add(idle as u64, Ordering::Relaxed);
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

    const LONG: Duration = Duration::from_secs(3_600);

    #[tokio::test(start_paused = true)]
    async fn whoever_asks_hears_of_what_another_worker_closes() {
        let descriptors = Descriptors::new(100, 2);
        let begun = tokio::time::Instant::now();
        let closes = async {
            descriptors.are_wanted_of(1).await;
            descriptors.closed(3);
        };
        tokio::join!(closes, descriptors.get_from_others(0, LONG));
        assert_eq!((begun.elapsed(), descriptors.idle_closed()), (Duration::ZERO, 3));
    }

    #[tokio::test]
    async fn a_worker_that_was_busy_when_it_was_asked_is_told_all_the_same_and_the_one_that_asked_is_not() {
        let descriptors = Descriptors::new(100, 2);
        descriptors.ask_others(0);
        descriptors.are_wanted_of(1).await;
        assert!(timeout(Duration::ZERO, descriptors.are_wanted_of(0)).await.is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_for_longer_than_it_may_for_workers_that_have_nothing_to_close() {
        let begun = tokio::time::Instant::now();
        let patience = Duration::from_millis(100);
        Descriptors::new(100, 2).get_from_others(0, patience).await;
        assert!((patience..2 * patience).contains(&begun.elapsed()));
    }
}
