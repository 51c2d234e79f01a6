//! The circuit breaker of the simulated pool: its admissions, and the results that it learns.

use std::time::Duration;

use weir_health::{Admission, Breaker, Probe, TrafficSample};

use super::Engine;

/// Circuit breaker, with the counts of the pool's requests so far.
#[derive(Debug, Default)]
pub(super) struct PoolBreaker {
    breaker: Breaker,
    sample: TrafficSample,
}

impl Engine<'_> {
    /// Admits a request. Returns `None` if the breaker refuses it, else the probe if it passes as one.
    pub(super) fn admit(&mut self) -> Option<Option<Probe>> {
        let Some(rule) = &self.scenario.balancer.breaker else { return Some(None) };
        match self.breaker.breaker.admit(rule, Duration::from_nanos(self.now_ns)) {
            Admission::Pass => Some(None),
            Admission::Probe(probe) => Some(Some(probe)),
            Admission::Refuse { .. } => None,
        }
    }

    /// Reports a request's result after all its tries; `is_good` is `None` if it says nothing about the
    /// servers.
    pub(super) fn tell_breaker(&mut self, probe: Option<Probe>, is_good: Option<bool>) {
        let Some(rule) = &self.scenario.balancer.breaker else { return };
        let PoolBreaker { breaker, sample } = &mut self.breaker;
        sample.requests_total += u64::from(is_good.is_some());
        sample.failures_total += u64::from(is_good == Some(false));
        let now = Duration::from_nanos(self.now_ns);
        match probe {
            Some(probe) => breaker.probed(rule, now, probe, is_good, *sample),
            // As in the proxy, the breaker judges after a failure.
            None if is_good == Some(false) => breaker.judge(rule, now, *sample),
            None => {}
        }
    }
}
