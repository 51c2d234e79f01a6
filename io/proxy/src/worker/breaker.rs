use std::rc::Rc;
use std::time::{Duration, Instant};

use weir_health::{Admission, Probe, TrafficSample};

use super::LocalPool;

/// What the pool's breaker has let a request pass as. Dropped without an outcome, a probe says nothing.
pub(crate) struct Pass {
    pool: Rc<LocalPool>,
    probe: Option<Probe>,
    has_ended: bool,
}

impl Pass {
    /// For a request to `pool`; `None` where there is no breaker. Refused for so long; zero = nobody knows.
    pub(crate) fn ask(pool: &Rc<LocalPool>, now: Instant) -> Result<Option<Self>, Duration> {
        let Some(rule) = &pool.shared.plan.breaker else { return Ok(None) };
        let probe = match pool.shared.breaker.admit(rule, now) {
            Admission::Pass => None,
            Admission::Probe(probe) => Some(probe),
            Admission::Refuse { retry_after } => return Err(retry_after),
        };
        Ok(Some(Self { pool: Rc::clone(pool), probe, has_ended: false }))
    }

    /// What became of the request after all its tries. Only the first word counts.
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
    /// What became of the pool's requests, over all workers.
    fn outcomes(&self) -> TrafficSample {
        let counters = &self.shared.counters;
        // Failures first: a request that ends in between must not count as a failure without being a request.
        let failures_total = counters.sum(|shard| shard.failures.get());
        let requests_total = counters.sum(|shard| shard.outcomes.get());
        TrafficSample { requests_total, failures_total, ..TrafficSample::default() }
    }
}
