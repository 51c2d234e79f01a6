//! Ejection of servers because of failed requests.

use std::time::Duration;

use weir_health::{EjectionState, TrafficSample, Verdict};

use super::{Engine, Event};

/// Interval of judgements, the same as the proxy's. Enough failures of a server cause an additional one.
pub(super) const JUDGED_EVERY_NS: u64 = 1_000_000_000;

/// Request results of one server.
#[derive(Debug, Clone, Default)]
pub(super) struct Traffic {
    state: EjectionState,
    sample: TrafficSample,
}

impl Engine<'_> {
    /// Records that a server refused a request or broke it off.
    pub(super) fn note_failure(&mut self, server: u32) {
        let Some(rule) = &self.scenario.balancer.ejection else { return };
        let Some(Traffic { state, sample }) = self.traffic.get_mut(server as usize) else { return };
        let is_probe = state.is_half_open();
        sample.requests_total += 1;
        sample.failures_total += 1;
        sample.consecutive_failures = sample.consecutive_failures.saturating_add(1);
        sample.probes_failed += u32::from(is_probe);
        let is_row =
            rule.consecutive_failures > 0 && sample.consecutive_failures >= rule.consecutive_failures;
        if is_probe || is_row {
            self.judge(server);
        }
    }

    /// Records that a server answered a request.
    pub(super) fn note_success(&mut self, server: u32) {
        let Some(Traffic { state, sample }) = self.traffic.get_mut(server as usize) else { return };
        sample.requests_total += 1;
        sample.consecutive_failures = 0;
        if state.is_half_open() {
            sample.probes_passed += 1;
            self.judge(server);
        }
    }

    pub(super) fn judge_all(&mut self) {
        (0..self.traffic.len() as u32).for_each(|server| self.judge(server));
        self.schedule(self.now_ns.saturating_add(JUDGED_EVERY_NS), Event::Judge);
    }

    fn judge(&mut self, server: u32) {
        let slot = server as usize;
        let Some(rule) = &self.scenario.balancer.ejection else { return };
        let (Some(others), Some(traffic)) = (self.pool.ejections(slot), self.traffic.get_mut(slot)) else {
            return;
        };
        let now = Duration::from_nanos(self.now_ns);
        match traffic.state.judge(rule, now, traffic.sample, others) {
            Verdict::Stay => return,
            Verdict::Eject { .. } => {
                traffic.sample.consecutive_failures = 0;
                self.pool.eject(slot, self.now_ns);
            }
            Verdict::Probe => {
                (traffic.sample.probes_passed, traffic.sample.probes_failed) = (0, 0);
                self.pool.readmit(slot, Some(rule.probes), self.now_ns);
            }
            Verdict::Return => self.pool.readmit(slot, None, self.now_ns),
        }
        self.waiting.forget_pace();
        self.rise(server);
        // Deferred by an event, because a request may be on its way to a server right now.
        self.schedule(self.now_ns, Event::Revise { server });
    }
}
