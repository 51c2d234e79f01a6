//! Shares the process's limit of file descriptors among the workers.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::timeout;

/// The descriptor limit of this process, and the messages by which workers ask each other to close idle
/// connections when few descriptors are left. Each worker has its own idle connections, and only that worker
/// can close them.
#[derive(Debug)]
pub struct Descriptors {
    /// Descriptor number from which few descriptors are left. The kernel returns the lowest free number
    /// (open(2)). A new descriptor with this number therefore shows that all lower ones are in use, and no
    /// counter is needed.
    few_from: u64,
    limit: u64,
    /// One signal for each worker.
    wanted: Box<[Notify]>,
    found: Notify,
    idle_closed: AtomicU64,
}

/// Number of descriptors kept free for health checks, name resolution, logs, pipes and the control interface.
/// Small limits reserve the share `1 / KEPT_FREE_SHARE` instead.
const KEPT_FREE: u64 = 256;
const KEPT_FREE_SHARE: u64 = 16;

impl Descriptors {
    /// Creates the state for a process with `workers` workers that may have `limit` open descriptors.
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

    /// Returns the maximum number of open descriptors.
    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    /// Returns the number of workers.
    pub(crate) fn workers(&self) -> usize {
        self.wanted.len()
    }

    /// Returns how many idle connections to servers were closed for lack of descriptors since the start.
    pub fn idle_closed(&self) -> u64 {
        self.idle_closed.load(Ordering::Relaxed)
    }

    /// Returns true if few descriptors were left when the kernel returned the descriptor `newest`.
    pub(crate) fn are_few(&self, newest: u64) -> bool {
        newest >= self.few_from
    }

    /// Asks all workers except `asking` to close connections that they can spare.
    pub(crate) fn ask_others(&self, asking: usize) {
        for (_, wanted) in self.wanted.iter().enumerate().filter(|(thread, _)| *thread != asking) {
            wanted.notify_one();
        }
    }

    /// Asks all other workers, as [`Self::ask_others`] does. Returns when a worker has closed something, or
    /// after `patience`.
    pub(crate) async fn get_from_others(&self, asking: usize, patience: Duration) {
        // Registers before asking, so that no notification is missed.
        let found = self.found.notified();
        self.ask_others(asking);
        let _ = timeout(patience, found).await;
    }

    /// Returns when another worker asks worker `thread` for descriptors.
    pub(crate) async fn are_wanted_of(&self, thread: usize) {
        match self.wanted.get(thread) {
            Some(wanted) => wanted.notified().await,
            None => std::future::pending().await,
        }
    }

    /// Reports to waiting workers that descriptors were closed, `idle` of them idle connections to servers.
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
