//! The reactive policy: the rule of the published autoscaler.

use std::time::Duration;

use super::{Proposal, Situation, servers_for};

/// The rule of the published autoscaler, with which Weir is compared: once a period, the mean rate of that
/// period divided by the capacity of a server, rounded up. The first rounds only measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reactive {
    /// Time between two rounds.
    pub period: Duration,
    /// Number of initial rounds that only measure, including the one at the start.
    pub baseline: u32,
}

/// The policy with its state.
#[derive(Debug, Clone)]
pub(crate) struct Tracker {
    rule: Reactive,
    rounds: u32,
    began: Duration,
    /// Server-seconds of demand in this round.
    work: f64,
    measured: Duration,
    is_complete: bool,
    wanted: Option<u32>,
    reason: String,
}

impl Default for Reactive {
    fn default() -> Self {
        Self { period: Duration::from_secs(60), baseline: 2 }
    }
}

impl Tracker {
    pub(crate) fn new(rule: &Reactive) -> Self {
        Self {
            rule: *rule,
            rounds: 0,
            began: Duration::ZERO,
            work: 0.0,
            measured: Duration::ZERO,
            is_complete: true,
            wanted: None,
            reason: "only measuring yet".to_owned(),
        }
    }

    pub(crate) fn propose(&mut self, situation: &Situation) -> Proposal {
        if self.rounds == 0 {
            self.begin(situation.now.at);
        } else if let Some(demand) = situation.demand {
            self.work += demand * situation.passed.as_secs_f64();
            self.measured += situation.passed;
        }
        self.is_complete &= situation.is_complete || self.measured.is_zero();
        if situation.now.at.saturating_sub(self.began) >= self.rule.period {
            self.end_round(situation);
            self.begin(situation.now.at);
        }
        let wanted = self.wanted.unwrap_or(situation.wanted);
        Proposal { wanted, needed: wanted, reason: self.reason.clone() }
    }

    fn begin(&mut self, at: Duration) {
        self.rounds = self.rounds.saturating_add(1);
        (self.began, self.work, self.measured, self.is_complete) = (at, 0.0, Duration::ZERO, true);
    }

    fn end_round(&mut self, situation: &Situation) {
        // `rounds` does not include the present round yet.
        if self.rounds < self.rule.baseline {
            return;
        }
        if self.measured.is_zero() {
            self.reason = "nothing was measured in the last period".to_owned();
            return;
        }
        let mean = self.work / self.measured.as_secs_f64();
        let needed = servers_for(mean);
        let held = self.wanted.unwrap_or(situation.wanted);
        let (wanted, note) = match self.is_complete {
            true => (needed, ""),
            false => (needed.max(held), ", not everything was measured"),
        };
        self.wanted = Some(wanted);
        self.reason = format!(
            "the mean of the last {} s is work for {mean:.2} servers{note}",
            self.rule.period.as_secs()
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Now;

    /// Returns the wanted number in each second for a given demand, starting with 2 servers.
    fn follow(demand: impl Fn(u64) -> Option<f64>, seconds: u64) -> Vec<u32> {
        let mut tracker = Tracker::new(&Reactive::default());
        let mut wanted = 2;
        let step = |second| {
            let situation = Situation {
                now: Now::at(Duration::from_secs(second)),
                passed: Duration::from_secs(second.min(1)),
                demand: demand(second),
                is_complete: demand(second).is_some(),
                wanted,
                start_up: Duration::from_secs(60),
                least: 2,
                most: 13,
            };
            wanted = tracker.propose(&situation).wanted;
            wanted
        };
        (0..seconds).map(step).collect()
    }

    #[test]
    fn two_rounds_only_measure_and_then_every_minutes_mean_counts() {
        let wanted = follow(|_| Some(3.1), 200);
        assert!(wanted[..120].iter().all(|wanted| *wanted == 2));
        assert!(wanted[120..].iter().all(|wanted| *wanted == 4));
    }

    #[test]
    fn the_mean_is_over_the_whole_period() {
        // 30 seconds of work for 8 servers, then 30 seconds for 2.
        let wanted = follow(|second| Some(if second % 60 < 30 { 8.0 } else { 2.0 }), 300);
        assert!(wanted[130..].iter().all(|wanted| *wanted == 5), "{wanted:?}");
    }

    #[test]
    fn what_is_whole_is_not_rounded_up_by_what_adding_up_costs() {
        assert_eq!(follow(|_| Some(0.1 * 30.0), 130)[125], 3);
    }

    #[test]
    fn a_period_without_measurements_changes_nothing() {
        let wanted = follow(|second| (second < 120).then_some(5.0), 400);
        assert!(wanted[121..].iter().all(|wanted| *wanted == 5), "{wanted:?}");
    }
}
