use std::time::Duration;

use super::{Proposal, Situation, Target, servers_for, target};
use crate::forecast::{HoltWinters, Smoothing};

/// Target tracking, and ahead of it: as many servers as the forecast says will be needed when a server that is ordered now
/// takes its first request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Predictive {
    /// What it follows as long as, and as far as, the forecast says less.
    pub target: Target,
    /// How long demand takes to come again.
    pub season: Duration,
    /// The step of the forecast; `season` is at most [`Predictive::STEPS_MAX`] of them.
    pub step: Duration,
    /// Demand stays below what is provided for with this probability, as far as the forecast is concerned; 0.5 to below 1.
    pub confidence: f64,
}

/// The policy at work.
#[derive(Debug, Clone)]
pub(crate) struct Tracker {
    rule: Predictive,
    target: target::Tracker,
    forecast: Option<HoltWinters>,
    /// The step that values are gathered for, by the clock on the wall.
    step: i64,
    sum: f64,
    count: u32,
    /// What was remembered last; what is older comes too late.
    remembered: Option<i64>,
}

/// A gap that is longer than so many seasons is no gap but another beginning.
const GAP_SEASONS: i64 = 2;

impl Default for Predictive {
    fn default() -> Self {
        Self {
            target: Target::default(),
            season: Duration::from_secs(86_400),
            step: Duration::from_secs(300),
            confidence: 0.9,
        }
    }
}

impl Predictive {
    /// Steps in a season.
    pub const STEPS_MAX: u64 = 10_080;

    fn step_s(&self) -> i64 {
        (self.step.as_secs() as i64).max(1)
    }

    fn steps(&self) -> usize {
        (self.season.as_secs() / self.step.as_secs().max(1)).clamp(1, Self::STEPS_MAX) as usize
    }
}

impl Tracker {
    pub(crate) fn new(rule: &Predictive) -> Self {
        Self {
            rule: *rule,
            target: target::Tracker::new(&rule.target),
            forecast: None,
            step: 0,
            sum: 0.0,
            count: 0,
            remembered: None,
        }
    }

    pub(crate) fn propose(&mut self, situation: &Situation) -> Proposal {
        if let Some(demand) = situation.demand.filter(|_| situation.is_complete) {
            self.remember(situation.now.wall_s, demand);
        }
        let followed = self.target.propose(situation);
        let Some((needed, demand)) = self.needed_at(situation.now.plus(situation.start_up).wall_s) else {
            return Proposal {
                reason: format!("{}; no whole season was seen yet", followed.reason),
                ..followed
            };
        };
        let ahead_s = situation.start_up.as_secs();
        let percent = self.rule.confidence * 100.0;
        let forecast =
            format!("in {ahead_s} s demand is at most work for {demand:.2} servers ({percent:.0}% sure)");
        if needed > followed.wanted {
            Proposal { wanted: needed.min(situation.most), reason: forecast }
        } else {
            Proposal { wanted: followed.wanted, reason: format!("{}; {forecast}", followed.reason) }
        }
    }

    /// Takes in what demand was; steps that nothing is known of are taken for what was expected.
    pub(crate) fn remember(&mut self, wall_s: i64, demand: f64) {
        if self.remembered.is_some_and(|last| wall_s < last) {
            return;
        }
        self.remembered = Some(wall_s);
        let step = wall_s.div_euclid(self.rule.step_s());
        if self.count > 0 && step != self.step {
            self.close_steps(step);
        }
        self.step = step;
        self.sum += demand;
        self.count = self.count.saturating_add(1);
    }

    fn close_steps(&mut self, next: i64) {
        let steps = self.rule.steps();
        let missing = next - self.step - 1;
        if missing > GAP_SEASONS * steps as i64 {
            self.forecast = None;
        }
        let phase = self.step.rem_euclid(steps as i64) as usize;
        let forecast =
            self.forecast.get_or_insert_with(|| HoltWinters::new(Smoothing::default(), steps, phase));
        forecast.push(self.sum / f64::from(self.count));
        if missing <= GAP_SEASONS * steps as i64 {
            (0..missing).for_each(|_| forecast.push(f64::NAN));
        }
        (self.sum, self.count) = (0.0, 0);
    }

    /// Servers that will be needed at a moment, and the demand that this is.
    fn needed_at(&self, wall_s: i64) -> Option<(u32, f64)> {
        let forecast = self.forecast.as_ref().filter(|forecast| forecast.is_ready())?;
        let steps = wall_s.div_euclid(self.rule.step_s()) - self.step + 1;
        let demand = forecast.ahead(usize::try_from(steps).unwrap_or(1)).quantile(self.rule.confidence)
            / self.rule.target.utilisation;
        Some((servers_for(demand), demand))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Now;

    const DAY: i64 = 86_400;

    /// Work for 2 servers, and for 10 from 8 to 18 o'clock.
    fn demand(wall_s: i64) -> f64 {
        if (8 * 3_600..18 * 3_600).contains(&(wall_s % DAY)) { 10.0 } else { 2.0 }
    }

    fn tracker_after(days: i64) -> Tracker {
        let mut tracker = Tracker::new(&Predictive::default());
        (0..days * DAY / 60).for_each(|minute| tracker.remember(minute * 60, demand(minute * 60)));
        tracker
    }

    fn wanted(tracker: &mut Tracker, wall_s: i64) -> u32 {
        let situation = Situation {
            now: Now { at: Duration::from_secs(wall_s as u64), wall_s },
            passed: Duration::from_secs(1),
            demand: Some(demand(wall_s)),
            is_complete: true,
            wanted: 2,
            start_up: Duration::from_secs(120),
            least: 1,
            most: 50,
        };
        tracker.propose(&situation).wanted
    }

    #[test]
    fn servers_are_ordered_before_the_day_begins() {
        let mut tracker = tracker_after(5);
        assert_eq!(wanted(&mut tracker, 5 * DAY), 2);
        let early = 5 * DAY + 8 * 3_600 - 100;
        (1..early - 5 * DAY).step_by(60).for_each(|second| {
            wanted(&mut tracker, 5 * DAY + second);
        });
        assert!(wanted(&mut tracker, early) >= 10);
    }

    #[test]
    fn without_a_whole_season_it_only_follows() {
        let mut tracker = tracker_after(0);
        assert_eq!(wanted(&mut tracker, 8 * 3_600 - 100), 2);
    }

    #[test]
    fn what_comes_too_late_or_after_years_does_no_harm() {
        let mut tracker = tracker_after(2);
        tracker.remember(0, 1e6);
        tracker.remember(4_000 * DAY, 3.0);
        tracker.remember(4_000 * DAY + 600, 3.0);
        assert!(tracker.needed_at(4_000 * DAY + 700).is_none());
    }
}
