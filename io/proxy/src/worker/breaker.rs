//! Admits requests through a pool's circuit breaker and reports their outcomes.

use std::rc::Rc;
use std::time::{Duration, Instant};

use weir_health::{Admission, Probe, TrafficSample};

use super::LocalPool;

/// A request's admission by the pool's breaker. A probe that is dropped without an outcome counts neither as
/// success nor as failure.
pub(crate) struct Pass {
    pool: Rc<LocalPool>,
    probe: Option<Probe>,
    has_ended: bool,
}

impl Pass {
    /// Asks the breaker of `pool` to admit a request. Returns `None` if the pool has no breaker. The error is
    /// the time until a retry makes sense; zero = unknown.
    pub(crate) fn ask(pool: &Rc<LocalPool>, now: Instant) -> Result<Option<Self>, Duration> {
        let Some(rule) = &pool.shared.plan.breaker else { return Ok(None) };
        let probe = match pool.shared.breaker.admit(rule, now) {
            Admission::Pass => None,
            Admission::Probe(probe) => Some(probe),
            Admission::Refuse { retry_after } => return Err(retry_after),
        };
        Ok(Some(Self { pool: Rc::clone(pool), probe, has_ended: false }))
    }

    /// Reports the outcome of the request after all its tries. Only the first call counts.
    pub(crate) fn end(&mut self, good: bool, now: Instant) {
        if self.has_ended {
            return;
        }
        self.has_ended = true;
        let pool = &self.pool;
        let counters = pool.counters();
        counters.outcomes.one();
        if !good {
            counters.failures.one();
        }
        let (breaker, Some(rule)) = (&pool.shared.breaker, &pool.shared.plan.breaker) else { return };
        let has_changed = match self.probe {
            Some(probe) => breaker.probed(rule, now, probe, Some(good), pool.outcomes()),
            None if good => false,
            None => breaker.failed(rule, now, pool.outcomes()),
        };
        if has_changed {
            pool.alarm();
        }
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        if let (Some(probe), false, Some(rule)) = (self.probe, self.has_ended, &self.pool.shared.plan.breaker)
        {
            let breaker = &self.pool.shared.breaker;
            breaker.probed(rule, Instant::now(), probe, None, TrafficSample::default());
        }
    }
}

impl LocalPool {
    /// Returns the outcomes of the pool's requests, over all workers.
    fn outcomes(&self) -> TrafficSample {
        let counters = &self.shared.counters;
        // Failures are read first: a request that ends in between must not count as a failure without
        // counting as a request.
        let failures_total = counters.sum(|shard| shard.failures.get());
        let requests_total = counters.sum(|shard| shard.outcomes.get());
        TrafficSample { requests_total, failures_total, ..TrafficSample::default() }
    }
}
