//! Ejection of servers by the results of real traffic (outlier detection).

use std::time::Duration;

use crate::window::Window;
use crate::{EjectionRule, TrafficSample};

/// The ejection state of one server, by the results of real traffic.
///
/// The caller should call [`judge`](Self::judge) several times within `rule.window`, and after a failure if
/// the server should be ejected at once.
#[derive(Debug, Clone, Default)]
pub struct EjectionState {
    standing: Standing,
    /// Ejections that still increase the length of the next one.
    count: u32,
    window: Option<Window>,
    /// Total of failures at the last return of the server; only later failures count.
    failures_forgiven: u64,
}

#[derive(Debug, Clone, Copy, Default)]
enum Standing {
    /// The server gets requests, and [`judge`](EjectionState::judge) has not been called yet.
    #[default]
    New,
    /// Gets requests. The time that has not yet reduced `count` begins at `since`.
    In {
        since: Duration,
    },
    Ejected {
        until: Duration,
    },
    /// The server gets a few requests as probes.
    HalfOpen,
}

/// Counts of the pool's servers that decide whether one more may be ejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolEjections {
    /// Servers of the same tier that are ejected now.
    pub ejected: usize,
    /// Servers of the same tier (same priority, backups separate) that would get requests if none were
    /// ejected. Servers that are down or drained do not count.
    pub servers: usize,
    /// Servers of other tiers that could get requests now. They take over if this tier has none.
    pub elsewhere: usize,
}

/// The decision about a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The server keeps its state.
    Stay,
    /// The server gets no new requests until this time.
    Eject {
        /// End of the ejection, counted from the same start as `now`.
        until: Duration,
    },
    /// The ejection is over. The server gets requests again, but no more than [`EjectionRule::probes`] at
    /// once. [`TrafficSample::probes_passed`] and `probes_failed` start from 0.
    Probe,
    /// The server gets requests without restriction again.
    Return,
}

impl EjectionState {
    /// Creates the state of a server without traffic.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the end of the ejection, if the server is ejected.
    pub fn ejected_until(&self) -> Option<Duration> {
        match self.standing {
            Standing::Ejected { until } => Some(until),
            Standing::New | Standing::In { .. } | Standing::HalfOpen => None,
        }
    }

    /// Returns true if the server gets only as many concurrent requests as the rule has probes.
    pub fn is_half_open(&self) -> bool {
        matches!(self.standing, Standing::HalfOpen)
    }

    /// Decides by the traffic up to `now` (counted from any fixed start). The state already reflects a
    /// verdict other than [`Verdict::Stay`], and the caller must carry it out.
    ///
    /// Never ejects the last server of a pool. If no other tier can take over, ejects no more than
    /// `rule.share_max_percent` of the tier, except that one server may always be ejected. Ends an ejection
    /// early if the pool has no other server.
    pub fn judge(
        &mut self,
        rule: &EjectionRule,
        now: Duration,
        sample: TrafficSample,
        pool: PoolEjections,
    ) -> Verdict {
        let is_off = rule.consecutive_failures == 0 && rule.error_percent == 0;
        match self.standing {
            Standing::Ejected { until } if now < until && !is_off && !is_nobody_left(pool) => {
                return Verdict::Stay;
            }
            Standing::Ejected { .. } if rule.probes > 0 && !is_off => {
                self.standing = Standing::HalfOpen;
                return Verdict::Probe;
            }
            Standing::HalfOpen if sample.probes_failed > 0 && !is_off => {
                if may_eject(rule, pool) {
                    return self.eject(rule, now);
                }
                // No other server could take its requests.
                self.start(now, sample, sample.failures_total);
                return Verdict::Return;
            }
            Standing::HalfOpen if sample.probes_passed < rule.probes && !is_off => {
                return Verdict::Stay;
            }
            Standing::Ejected { .. } | Standing::HalfOpen => {
                self.start(now, sample, sample.failures_total);
                return Verdict::Return;
            }
            // Consecutive failures are always recent, but totals may be of any age.
            Standing::New => self.start(now, sample, 0),
            Standing::In { .. } => {}
        }
        self.forget_old_ejections(rule, now);
        if !self.has_failed(rule, now, sample) || !may_eject(rule, pool) {
            return Verdict::Stay;
        }
        self.eject(rule, now)
    }

    fn eject(&mut self, rule: &EjectionRule, now: Duration) -> Verdict {
        self.count = self.count.saturating_add(1);
        let length = rule.base_time.duration().saturating_mul(self.count).min(rule.time_max.duration());
        let until = now.saturating_add(length);
        self.standing = Standing::Ejected { until };
        Verdict::Eject { until }
    }

    fn start(&mut self, now: Duration, sample: TrafficSample, failures_forgiven: u64) {
        self.standing = Standing::In { since: now };
        self.window = Some(Window::starting(now, sample.requests_total, sample.failures_total));
        self.failures_forgiven = failures_forgiven;
    }

    /// Reduces the count by one for each `base_time` without an ejection.
    fn forget_old_ejections(&mut self, rule: &EjectionRule, now: Duration) {
        let Standing::In { since } = &mut self.standing else { return };
        if self.count == 0 {
            *since = now;
            return;
        }
        let step = rule.base_time.duration().max(Duration::from_millis(1));
        let steps = (now.saturating_sub(*since).as_nanos() / step.as_nanos()).min(u128::from(self.count));
        self.count -= steps as u32;
        *since = if self.count == 0 { now } else { since.saturating_add(step.saturating_mul(steps as u32)) };
    }

    fn has_failed(&mut self, rule: &EjectionRule, now: Duration, sample: TrafficSample) -> bool {
        // An ejected server gets no requests that could end its series of failures, so only new failures
        // count.
        let new_failures = sample.failures_total.saturating_sub(self.failures_forgiven);
        let in_a_row = u64::from(sample.consecutive_failures).min(new_failures);
        let too_many = rule.consecutive_failures > 0 && in_a_row >= rule.consecutive_failures.into();

        let Some(window) = &mut self.window else { return too_many };
        let (requests, failures) =
            window.growth(now, rule.window.duration(), sample.requests_total, sample.failures_total);
        let share_reached =
            u128::from(failures) * 100 >= u128::from(requests) * u128::from(rule.error_percent);
        let enough = requests >= u64::from(rule.requests_min).max(1);
        too_many || (rule.error_percent > 0 && enough && share_reached)
    }
}

/// Returns true if all servers that could serve are ejected. A server that may fail is then better than none.
fn is_nobody_left(pool: PoolEjections) -> bool {
    pool.elsewhere == 0 && pool.servers > 0 && pool.ejected >= pool.servers
}

fn may_eject(rule: &EjectionRule, pool: PoolEjections) -> bool {
    if pool.elsewhere > 0 {
        return true;
    }
    let ejected = pool.ejected.saturating_add(1);
    let one_remains = ejected < pool.servers;
    let share_max = usize::from(rule.share_max_percent.min(100));
    let within_share = ejected.saturating_mul(100) <= pool.servers.saturating_mul(share_max);
    one_remains && (pool.ejected == 0 || within_share)
}
