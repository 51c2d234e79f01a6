//! Ejects servers that fail real requests, and returns them to rotation.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::{Instant, sleep};
use weir_health::{EjectionRule, TrafficSample, Verdict};

use super::Controller;
use super::phrase::{count, duration};
use super::records::PoolRecord;
use crate::state::ServerState;

/// Minimum interval between two runs: a failing server raises the alarm with each failure.
const ALARMS_APART: Duration = Duration::from_millis(20);

/// Ejects failing servers as soon as a worker raises the alarm. [`Controller::read_totals`] judges all
/// servers regularly and also returns them.
pub(super) async fn keep_judging(controller: Arc<Controller>) {
    loop {
        controller.shared().traffic_alarm.notified().await;
        controller.judge_traffic();
        sleep(ALARMS_APART).await;
    }
}

impl Controller {
    /// Judges every server of every pool that has an ejection rule.
    fn judge_traffic(&self) {
        let mut judgement = self.judgement();
        let mut records = self.records();
        for pool in records.pools_in_use_mut() {
            for slot in 0..pool.members.slots().len() {
                let Some(server) = pool.members.at(slot) else { continue };
                let sample = sample(&server.state);
                judgement.judge(pool, slot, sample);
            }
            judgement.judge_breaker(pool);
        }
        drop(records);
        self.carry_out(judgement);
    }

    /// Creates an empty judgement for the present time.
    pub(super) fn judgement(&self) -> Judgement {
        let now = Instant::now();
        Judgement { now, since_start: self.since_start(now), events: Vec::new() }
    }

    /// Publishes the results to workers and logs them.
    pub(super) fn carry_out(&self, judgement: Judgement) {
        if !judgement.events.is_empty() {
            self.publish_news();
        }
        judgement.events.iter().for_each(|event| self.log.line(event));
    }
}

/// Results of judging servers and pools at one time, for the log.
pub(super) struct Judgement {
    now: Instant,
    since_start: Duration,
    events: Vec<String>,
}

impl Judgement {
    /// Judges one server by its traffic, if its pool has an ejection rule.
    pub(super) fn judge(&mut self, pool: &mut PoolRecord, slot: usize, sample: TrafficSample) {
        let Some(rule) = &pool.shared.plan.ejection else { return };
        let Some(server) = pool.members.at(slot) else { return };
        let ejections = pool.rotation().ejections(server.spec.spec.backup, server.spec.spec.priority);
        let Some(server) = pool.members.at_mut(slot) else { return };
        if !server.is_eligible() && !server.health.is_ejected() {
            // Checks or the operator already keep it out of rotation.
            return;
        }
        let was_half_open = server.health.is_half_open();
        let verdict = server.health.judge(rule, self.since_start, sample, ejections, self.now);
        let event = match verdict {
            Verdict::Stay => return,
            Verdict::Probe => {
                server.state.want_probes(rule.probes);
                format!(
                    "half open after its ejection: gets {} at once",
                    count(rule.probes.into(), "request", "requests")
                )
            }
            Verdict::Return => {
                server.state.want_probes(0);
                "back from ejection".to_owned()
            }
            Verdict::Eject { until } => {
                // Later failures belong to requests sent before the ejection.
                server.state.succeeded();
                server.state.want_probes(0);
                let length = duration(until.saturating_sub(self.since_start));
                let reason = match was_half_open {
                    true => "it failed a request while it was half open".to_owned(),
                    false => reason(rule, sample),
                };
                format!("ejected for {length}: {reason}")
            }
        };
        let label = server.label();
        pool.settle(slot);
        // The server's limit has changed even if nothing else has.
        pool.spoil();
        self.events.push(format!("pool {}, {label}: {event}; {}", pool.name, pool.rotation()));
    }

    /// Records the state of a pool's circuit breaker, if it has one.
    pub(super) fn judge_breaker(&mut self, pool: &mut PoolRecord) {
        let shared = Arc::clone(&pool.shared);
        if let Some(rule) = &shared.plan.breaker {
            self.events.extend(pool.breaker_event(rule));
        }
    }
}

/// Returns a server's traffic totals.
pub(super) fn sample(server: &ServerState) -> TrafficSample {
    // Reading the half-open counters costs another cache miss, so they are read only if needed.
    let is_probed = server.probes_wanted() > 0;
    TrafficSample {
        requests_total: server.counters.sum(|shard| shard.requests.get()),
        failures_total: server.counters.sum(|shard| shard.failures.get()),
        consecutive_failures: server.consecutive_failures.load(Ordering::Relaxed),
        probes_passed: if is_probed { server.probes_passed() } else { 0 },
        probes_failed: if is_probed { server.probes_failed() } else { 0 },
    }
}

fn reason(rule: &EjectionRule, sample: TrafficSample) -> String {
    let row = sample.consecutive_failures;
    if rule.consecutive_failures > 0 && row >= rule.consecutive_failures {
        return format!("{} in a row", count(row.into(), "failure", "failures"));
    }
    format!("{} % of its requests or more failed within {}", rule.error_percent, rule.window)
}
