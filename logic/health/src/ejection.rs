use std::time::Duration;

use crate::window::Window;
use crate::{EjectionRule, TrafficSample};

/// What real traffic makes of one server.
///
/// Judge it regularly (several times within `rule.window`), and after a failure if it should be ejected at once.
#[derive(Debug, Clone, Default)]
pub struct EjectionState {
    standing: Standing,
    /// Ejections that still count towards the length of the next one.
    count: u32,
    window: Option<Window>,
    /// The failures up to here have been paid for.
    failures_forgiven: u64,
}

#[derive(Debug, Clone, Copy, Default)]
enum Standing {
    /// Gets requests; time for which it has done so that has not lowered the count yet begins at `since`.
    #[default]
    New,
    In {
        since: Duration,
    },
    Ejected {
        until: Duration,
    },
    /// Back for a few requests, to find out.
    HalfOpen,
}

/// How many servers of a pool are ejected, as one of them needs to know it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolEjections {
    /// Servers of its tier that are ejected right now.
    pub ejected: usize,
    /// Servers of its tier (the same priority, backups apart) that would get requests if none were ejected: not those that are down or
    /// drained.
    pub servers: usize,
    /// Servers of other tiers that could get requests now: they take over if its tier has none.
    pub elsewhere: usize,
}

/// What is to be done with a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing: it stays in, or stays out.
    Stay,
    /// It gets nothing new until this time.
    Eject {
        /// Since the same start as the `now` it was judged at.
        until: Duration,
    },
    /// Its time is over: it gets requests again, but no more than [`EjectionRule::probes`] at once. From now on
    /// [`TrafficSample::probes_passed`] and `probes_failed` count from 0.
    Probe,
    /// It gets requests again as any other.
    Return,
}

impl EjectionState {
    /// Nothing known yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Until when the server is ejected, if it is.
    pub fn ejected_until(&self) -> Option<Duration> {
        match self.standing {
            Standing::Ejected { until } => Some(until),
            Standing::New | Standing::In { .. } | Standing::HalfOpen => None,
        }
    }

    /// Whether it is to get only as many requests at once as the rule has probes.
    pub fn is_half_open(&self) -> bool {
        matches!(self.standing, Standing::HalfOpen)
    }

    /// Decides by what has happened up to `now` (since any fixed start). A verdict other than [`Verdict::Stay`] has
    /// already been taken note of: the caller carries it out.
    ///
    /// Never ejects if that would leave the pool without a server. Where no other tier can take over, never ejects (but for the first
    /// server) more than `rule.share_max_percent` of the tier. Ends an ejection early if the pool has no other server.
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
                // There is nobody to keep its requests for.
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
            // A row of failures is recent by nature; totals may be of any age.
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

    /// Each time of `base_time` without an ejection makes up for one.
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
        // While it was ejected no success could end its row of failures: only new ones count.
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

/// Returns whether the servers that could serve are all ejected: one that may fail is better than none.
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
