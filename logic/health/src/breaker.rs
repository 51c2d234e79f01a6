//! The circuit breaker of a pool.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use weir_model::Millis;

use crate::TrafficSample;
use crate::window::Window;

/// The rule by which a pool's breaker opens and closes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BreakerRule {
    /// Share of failed requests within `window` that opens the breaker, 1 to 100 percent.
    pub error_percent: u8,
    /// Minimum number of requests within `window` to apply the share.
    pub requests_min: u32,
    /// Time over which the share is computed.
    pub window: Millis,
    /// Time for which the breaker stays open before it admits probes.
    pub open: Millis,
    /// Number of requests admitted as probes when half open. The breaker closes when all of them have
    /// succeeded. At least 1.
    pub probes: u32,
}

/// A circuit breaker for a pool (Nygard, Release It!, "Circuit Breaker"). It is closed in normal operation
/// and opens for some time after too many failures. Then it is half open and admits a few requests as probes,
/// whose results decide.
///
/// The breaker judges the pool as a whole, by the final results of requests after all retries.
/// [`EjectionState`](crate::EjectionState) handles failures of single servers.
#[derive(Debug, Clone, Default)]
pub struct Breaker {
    standing: Standing,
    window: Option<Window>,
    judged: Duration,
    /// Number of the current half-open period. The result of a probe from an earlier period is ignored.
    turn: u64,
    opened: u64,
}

#[derive(Debug, Clone, Copy, Default)]
enum Standing {
    #[default]
    Closed,
    Open {
        until: Duration,
    },
    HalfOpen {
        since: Duration,
        admitted: u32,
        succeeded: u32,
    },
}

/// The decision whether a request may go to the pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// The request may pass.
    Pass,
    /// The request may pass as a probe; the caller must report its result to [`Breaker::probed`].
    Probe(Probe),
    /// The request must not pass.
    Refuse {
        /// Time until the next probes are due; zero = probes are in progress.
        retry_after: Duration,
    },
}

/// A request that tests whether the pool works again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probe {
    turn: u64,
}

/// The state of a breaker, for display.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BreakerState {
    /// All requests pass.
    Closed,
    /// All requests are rejected.
    Open {
        /// Time until the breaker becomes half open.
        remaining: Duration,
    },
    /// Some requests pass as probes.
    HalfOpen,
}

impl Breaker {
    /// Returns true if the breaker is closed.
    pub fn is_closed(&self) -> bool {
        matches!(self.standing, Standing::Closed)
    }

    /// Returns the state at `now`. Here and below, `now` counts from any fixed start.
    pub fn state(&self, now: Duration) -> BreakerState {
        match self.standing {
            Standing::Closed => BreakerState::Closed,
            Standing::Open { until } if now < until => BreakerState::Open { remaining: until - now },
            Standing::Open { .. } | Standing::HalfOpen { .. } => BreakerState::HalfOpen,
        }
    }

    /// Returns how often the breaker has opened, from closed or half open.
    pub fn opened(&self) -> u64 {
        self.opened
    }

    /// Decides whether a request may go to the pool.
    pub fn admit(&mut self, rule: &BreakerRule, now: Duration) -> Admission {
        match self.standing {
            Standing::Closed => return Admission::Pass,
            Standing::Open { until } if now < until => {
                return Admission::Refuse { retry_after: until - now };
            }
            Standing::Open { .. } => {
                self.turn += 1;
                self.standing = Standing::HalfOpen { since: now, admitted: 0, succeeded: 0 };
            }
            // A reload may have reduced the number of probes.
            Standing::HalfOpen { succeeded, .. } if succeeded >= rule.probes.max(1) => {
                self.standing = Standing::Closed;
                self.window = None;
                return Admission::Pass;
            }
            // Admit further probes if the present ones take too long. Otherwise, slow probes would keep the
            // breaker half open indefinitely.
            Standing::HalfOpen { since, succeeded, .. }
                if now.saturating_sub(since) >= rule.open.duration() =>
            {
                self.standing = Standing::HalfOpen { since: now, admitted: succeeded, succeeded };
            }
            Standing::HalfOpen { .. } => {}
        }
        match &mut self.standing {
            Standing::HalfOpen { admitted, .. } if *admitted < rule.probes.max(1) => {
                *admitted += 1;
                Admission::Probe(Probe { turn: self.turn })
            }
            _ => Admission::Refuse { retry_after: Duration::ZERO },
        }
    }

    /// Applies the rule after a request that was not a probe; `sample` includes that request. The caller must
    /// call it after each failure, and at times after successes.
    pub fn judge(&mut self, rule: &BreakerRule, now: Duration, sample: TrafficSample) {
        if !self.is_closed() {
            return;
        }
        let (requests_now, failures_now) = (sample.requests_total, sample.failures_total);
        let judged = std::mem::replace(&mut self.judged, now);
        if now.saturating_sub(judged) > rule.window.duration() {
            self.window = None;
        }
        let Some(window) = &mut self.window else {
            // Totals from before the last call are of unknown age, except for the request that has just
            // ended.
            let failures = failures_now.saturating_sub(1);
            let requests = requests_now.saturating_sub(1);
            self.window = Some(Window::starting(now, requests, failures.min(requests)));
            return;
        };
        let (requests, failures) = window.growth(now, rule.window.duration(), requests_now, failures_now);
        let share_reached =
            u128::from(failures) * 100 >= u128::from(requests) * u128::from(rule.error_percent);
        if failures > 0 && requests >= u64::from(rule.requests_min) && share_reached {
            self.open(rule, now);
        }
    }

    /// Records the result of a probe: true if it succeeded. With `None`, the result is unknown and another
    /// probe may replace it.
    pub fn probed(
        &mut self,
        rule: &BreakerRule,
        now: Duration,
        probe: Probe,
        outcome: Option<bool>,
        sample: TrafficSample,
    ) {
        let Standing::HalfOpen { admitted, succeeded, .. } = &mut self.standing else { return };
        if probe.turn != self.turn {
            return;
        }
        match outcome {
            None => *admitted = admitted.saturating_sub(1),
            Some(false) => self.open(rule, now),
            Some(true) => {
                *succeeded += 1;
                if *succeeded >= rule.probes.max(1) {
                    self.standing = Standing::Closed;
                    self.window = Some(Window::starting(now, sample.requests_total, sample.failures_total));
                }
            }
        }
    }

    fn open(&mut self, rule: &BreakerRule, now: Duration) {
        self.opened += 1;
        self.window = None;
        self.standing = Standing::Open { until: now.saturating_add(rule.open.duration()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule() -> BreakerRule {
        BreakerRule {
            error_percent: 50,
            requests_min: 10,
            window: Millis::from_secs(10),
            open: Millis::from_secs(5),
            probes: 3,
        }
    }

    /// A pool with its breaker and its totals.
    #[derive(Default)]
    struct Pool {
        breaker: Breaker,
        sample: TrafficSample,
    }

    impl Pool {
        fn end(&mut self, ms: u64, good: bool) {
            self.sample.requests_total += 1;
            self.sample.failures_total += u64::from(!good);
            self.breaker.judge(&rule(), at(ms), self.sample);
        }

        fn admit(&mut self, ms: u64) -> Admission {
            self.breaker.admit(&rule(), at(ms))
        }

        fn probe(&mut self, ms: u64) -> Probe {
            match self.admit(ms) {
                Admission::Probe(probe) => probe,
                other => panic!("{other:?}"),
            }
        }

        fn probed(&mut self, ms: u64, probe: Probe, outcome: Option<bool>) {
            self.breaker.probed(&rule(), at(ms), probe, outcome, self.sample);
        }

        /// Returns a pool whose breaker opened at 1 s.
        fn open() -> Self {
            let mut pool = Self::default();
            (0..10).for_each(|_| pool.end(1_000, false));
            assert!(!pool.breaker.is_closed());
            pool
        }
    }

    fn at(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn it_opens_at_the_share_and_not_before_enough_requests() {
        let mut pool = Pool::default();
        (0..5).for_each(|_| pool.end(100, true));
        (0..4).for_each(|_| pool.end(200, false));
        assert!(pool.breaker.is_closed());
        pool.end(300, false);
        assert_eq!(pool.admit(300), Admission::Refuse { retry_after: at(5_000) });
        assert_eq!(pool.breaker.state(at(1_300)), BreakerState::Open { remaining: at(4_000) });
        let mut mostly_good = Pool::default();
        (0..1_000).for_each(|number| mostly_good.end(number, number % 2 == 0 || number % 3 == 0));
        assert!(mostly_good.breaker.is_closed());
    }

    #[test]
    fn failures_of_long_ago_do_not_count() {
        let mut pool = Pool::default();
        (0..9).for_each(|_| pool.end(0, false));
        (0..400).for_each(|number| pool.end(12_000 + number * 25, true));
        (0..9).for_each(|_| pool.end(30_000, false));
        assert!(pool.breaker.is_closed());
        // After an hour without a call, the earlier totals do not count.
        (0..9).for_each(|_| pool.end(3_600_000, false));
        assert!(pool.breaker.is_closed());
    }

    #[test]
    fn it_closes_when_all_probes_succeed_and_no_sooner() {
        let mut pool = Pool::open();
        let probes = [pool.probe(6_000), pool.probe(6_000), pool.probe(6_000)];
        assert_eq!(pool.admit(6_000), Admission::Refuse { retry_after: Duration::ZERO });
        assert_eq!(pool.breaker.state(at(6_000)), BreakerState::HalfOpen);
        pool.probed(6_100, probes[0], Some(true));
        pool.probed(6_100, probes[1], Some(true));
        assert!(!pool.breaker.is_closed());
        pool.probed(6_200, probes[2], Some(true));
        assert_eq!(pool.admit(6_200), Admission::Pass);
        // The breaker starts with empty counts: earlier failures do not count.
        pool.end(6_300, false);
        assert!(pool.breaker.is_closed());
    }

    #[test]
    fn one_failed_probe_opens_it_again_for_the_whole_time() {
        let mut pool = Pool::open();
        let (good, bad) = (pool.probe(6_000), pool.probe(6_000));
        pool.probed(6_500, bad, Some(false));
        // The result of a probe from an earlier half-open period is ignored.
        pool.probed(6_600, good, Some(true));
        assert_eq!(pool.admit(11_000), Admission::Refuse { retry_after: at(500) });
        assert_eq!(pool.breaker.opened(), 2);
        let next = pool.probe(11_500);
        pool.probed(11_500, good, Some(false));
        assert_eq!(pool.breaker.state(at(11_500)), BreakerState::HalfOpen);
        pool.probed(11_500, next, Some(true));
    }

    #[test]
    fn a_probe_without_an_outcome_is_replaced_by_another() {
        let mut pool = Pool::open();
        let probes = [pool.probe(6_000), pool.probe(6_000), pool.probe(6_000)];
        pool.probed(6_000, probes[0], None);
        let other = pool.probe(6_000);
        assert_eq!(pool.admit(6_000), Admission::Refuse { retry_after: Duration::ZERO });
        for probe in [probes[1], probes[2], other] {
            pool.probed(6_100, probe, Some(true));
        }
        assert!(pool.breaker.is_closed());
    }

    #[test]
    fn probes_that_take_for_ever_keep_nobody_out_for_ever() {
        let mut pool = Pool::open();
        let slow = [pool.probe(6_000), pool.probe(6_000), pool.probe(6_000)];
        pool.probed(6_100, slow[0], Some(true));
        assert_eq!(pool.admit(6_200), Admission::Refuse { retry_after: Duration::ZERO });
        let others = [pool.probe(60_000), pool.probe(60_000)];
        assert_eq!(pool.admit(60_000), Admission::Refuse { retry_after: Duration::ZERO });
        for probe in others {
            pool.probed(60_100, probe, Some(true));
        }
        assert!(pool.breaker.is_closed());
        pool.probed(90_000, slow[1], Some(false));
        assert!(pool.breaker.is_closed(), "too late to say anything");
    }

    #[test]
    fn a_rule_that_asks_for_fewer_probes_closes_it() {
        let mut pool = Pool::open();
        for probe in [pool.probe(6_000), pool.probe(6_000)] {
            pool.probed(6_100, probe, Some(true));
        }
        let fewer = BreakerRule { probes: 2, ..rule() };
        assert_eq!(pool.breaker.admit(&fewer, at(6_200)), Admission::Pass);
        assert!(pool.breaker.is_closed());
    }

    #[test]
    fn a_history_from_before_the_first_look_does_not_open_it() {
        let mut breaker = Breaker::default();
        let sample =
            TrafficSample { requests_total: 1_000, failures_total: 1_000, ..TrafficSample::default() };
        breaker.judge(&rule(), at(0), sample);
        assert!(breaker.is_closed());
    }
}
