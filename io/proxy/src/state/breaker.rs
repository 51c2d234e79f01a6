//! Shares one circuit breaker per pool among all workers.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use weir_health::{Admission, Breaker, BreakerRule, BreakerState, Probe, TrafficSample};

/// A pool's circuit breaker, shared by all workers. While it is closed, a request reads only an atomic flag.
/// Workers take the lock for failures, and for every request while it is not closed.
#[derive(Debug)]
pub struct PoolBreaker {
    is_closed: AtomicBool,
    refused: AtomicU64,
    breaker: Mutex<Breaker>,
    started: Instant,
}

impl Default for PoolBreaker {
    fn default() -> Self {
        Self {
            is_closed: AtomicBool::new(true),
            refused: AtomicU64::new(0),
            breaker: Mutex::default(),
            started: Instant::now(),
        }
    }
}

impl PoolBreaker {
    /// Returns the state of the breaker at `now`.
    pub fn state(&self, now: Instant) -> BreakerState {
        if self.is_closed.load(Ordering::Acquire) {
            return BreakerState::Closed;
        }
        self.lock().state(self.since_start(now))
    }

    /// Returns how often the breaker has opened.
    pub fn opened(&self) -> u64 {
        self.lock().opened()
    }

    /// Returns how many requests the breaker has refused.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// Closes the breaker and forgets its history, because the pool no longer has a breaker rule.
    pub fn reset(&self) {
        let mut breaker = self.lock();
        *breaker = Breaker::default();
        self.is_closed.store(true, Ordering::Release);
    }

    /// Admits or refuses a request to the pool.
    pub(crate) fn admit(&self, rule: &BreakerRule, now: Instant) -> Admission {
        if self.is_closed.load(Ordering::Acquire) {
            return Admission::Pass;
        }
        let admission = self.lock().admit(rule, self.since_start(now));
        if matches!(admission, Admission::Refuse { .. }) {
            self.refused.fetch_add(1, Ordering::Relaxed);
        }
        admission
    }

    /// Records a failed request that was not a probe; `sample` includes it. Returns true if this opened the
    /// breaker.
    pub(crate) fn failed(&self, rule: &BreakerRule, now: Instant, sample: TrafficSample) -> bool {
        self.change(|breaker| breaker.judge(rule, self.since_start(now), sample))
    }

    /// Records the outcome of a probe; `None` = unknown. Returns true if this opened or closed the breaker.
    pub(crate) fn probed(
        &self,
        rule: &BreakerRule,
        now: Instant,
        probe: Probe,
        outcome: Option<bool>,
        sample: TrafficSample,
    ) -> bool {
        self.change(|breaker| breaker.probed(rule, self.since_start(now), probe, outcome, sample))
    }

    fn change(&self, change: impl FnOnce(&mut Breaker)) -> bool {
        let mut breaker = self.lock();
        let before = (breaker.is_closed(), breaker.opened());
        change(&mut breaker);
        self.is_closed.store(breaker.is_closed(), Ordering::Release);
        before != (breaker.is_closed(), breaker.opened())
    }

    fn since_start(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.started)
    }

    fn lock(&self) -> MutexGuard<'_, Breaker> {
        // No panic can interrupt a change, so the state is valid even if the lock is poisoned.
        self.breaker.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
