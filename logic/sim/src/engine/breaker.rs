//! The pool's breaker: what it lets pass, and what it learns of what became of that.

use std::time::Duration;

use weir_health::{Admission, Breaker, Probe, TrafficSample};

use super::Engine;

/// The breaker, and what became of the pool's requests so far.
#[derive(Debug, Default)]
pub(super) struct PoolBreaker {
    breaker: Breaker,
    sample: TrafficSample,
}

impl Engine<'_> {
    /// A request has come: `None` if it is turned away, else as which probe it passes, if as one.
    pub(super) fn admit(&mut self) -> Option<Option<Probe>> {
        let Some(rule) = &self.scenario.balancer.breaker else { return Some(None) };
        match self.breaker.breaker.admit(rule, Duration::from_nanos(self.now_ns)) {
            Admission::Pass => Some(None),
            Admission::Probe(probe) => Some(Some(probe)),
            Admission::Refuse { .. } => None,
        }
    }

    /// What became of a request after all its tries; `None` says nothing of the servers.
    pub(super) fn tell_breaker(&mut self, probe: Option<Probe>, is_good: Option<bool>) {
        let Some(rule) = &self.scenario.balancer.breaker else { return };
        let PoolBreaker { breaker, sample } = &mut self.breaker;
        sample.requests_total += u64::from(is_good.is_some());
        sample.failures_total += u64::from(is_good == Some(false));
        let now = Duration::from_nanos(self.now_ns);
        match probe {
            Some(probe) => breaker.probed(rule, now, probe, is_good, *sample),
            // As in the proxy it looks when something has failed.
            None if is_good == Some(false) => breaker.judge(rule, now, *sample),
            None => {}
        }
    }
}
