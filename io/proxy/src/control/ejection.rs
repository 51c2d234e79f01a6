use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout};
use weir_health::{EjectionRule, TrafficSample, Verdict};

use super::Controller;
use super::phrase::{count, duration};
use super::records::PoolRecord;
use crate::state::ServerState;

/// Traffic is judged this often, and besides when a worker gives the alarm.
const REGULARLY: Duration = Duration::from_secs(1);
/// A server that fails gives the alarm with each failure: so much apart they are looked after.
const ALARMS_APART: Duration = Duration::from_millis(20);

/// Ejects servers that fail real requests, and lets them return.
pub(super) async fn keep_judging(controller: Arc<Controller>) {
    loop {
        // A timeout is the other reason to look.
        let _ = timeout(REGULARLY, controller.shared().traffic_alarm.notified()).await;
        controller.judge_traffic();
        sleep(ALARMS_APART).await;
    }
}

impl Controller {
    /// Judges every server of every pool that has a rule for it.
    pub(super) fn judge_traffic(&self) {
        let now = Instant::now();
        let since_start = self.since_start(now);
        let mut events = Vec::new();
        let mut records = self.records();
        for pool in records.pools_in_use_mut() {
            let shared = Arc::clone(&pool.shared);
            if let Some(rule) = &shared.plan.ejection {
                judge_pool(pool, rule, since_start, now, &mut events);
            }
            if let Some(rule) = &shared.plan.breaker {
                events.extend(pool.breaker_event(rule));
            }
        }
        drop(records);
        if !events.is_empty() {
            self.publish_news();
        }
        events.iter().for_each(|event| self.log.line(event));
    }
}

fn judge_pool(
    pool: &mut PoolRecord,
    rule: &EjectionRule,
    since_start: Duration,
    now: Instant,
    events: &mut Vec<String>,
) {
    for slot in 0..pool.members.slots().len() {
        let rotation = pool.rotation();
        let Some(server) = pool.members.at_mut(slot) else { continue };
        if !server.is_eligible() && !server.health.is_ejected() {
            // Checks or the operator keep it out already.
            continue;
        }
        let sample = sample(&server.state);
        let ejections = rotation.ejections(server.spec.spec.backup);
        let was_half_open = server.health.is_half_open();
        let verdict = server.health.judge(rule, since_start, sample, ejections, now);
        let event = match verdict {
            Verdict::Stay => continue,
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
                // What fails from now on was sent before.
                server.state.succeeded();
                server.state.want_probes(0);
                let length = duration(until.saturating_sub(since_start));
                let reason = match was_half_open {
                    true => "it failed a request while it was half open".to_owned(),
                    false => reason(rule, sample),
                };
                format!("ejected for {length}: {reason}")
            }
        };
        let label = server.label();
        pool.settle(slot);
        // Its limit has changed, even where nothing else has.
        pool.spoil();
        events.push(format!("pool {}, {label}: {event}; {}", pool.name, pool.rotation()));
    }
}

fn sample(server: &ServerState) -> TrafficSample {
    TrafficSample {
        requests_total: server.counters.sum(|shard| shard.requests.get()),
        failures_total: server.counters.sum(|shard| shard.failures.get()),
        consecutive_failures: server.consecutive_failures.load(Ordering::Relaxed),
        probes_passed: server.probes_passed(),
        probes_failed: server.probes_failed(),
    }
}

fn reason(rule: &EjectionRule, sample: TrafficSample) -> String {
    let row = sample.consecutive_failures;
    if rule.consecutive_failures > 0 && row >= rule.consecutive_failures {
        return format!("{} in a row", count(row.into(), "failure", "failures"));
    }
    format!("{} % of its requests or more failed within {}", rule.error_percent, rule.window)
}
