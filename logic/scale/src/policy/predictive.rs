//! The predictive policy: target tracking plus a forecast.

use std::time::Duration;

use super::{Proposal, Situation, Target, servers_for, target};
use crate::forecast::{Band, Method, Outlook};

/// Target tracking plus a forecast: wants the servers that demand will need when a server created now
/// receives its first request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Predictive {
    /// Target policy that applies while the forecast is lower.
    pub target: Target,
    /// Period after which demand repeats.
    pub season: Duration,
    /// The step of the forecast; `season` is at most [`Predictive::STEPS_MAX`] of them.
    pub step: Duration,
    /// Required probability that demand stays below the forecast; 0.5 to below 1.
    pub confidence: f64,
    /// Forecast method.
    pub forecast: Method,
}

/// The policy with its state.
#[derive(Debug, Clone)]
pub(crate) struct Tracker {
    rule: Predictive,
    target: target::Tracker,
    outlook: Outlook,
    /// Step of the values that are being added, by the wall clock.
    step: i64,
    sum: f64,
    count: u32,
    /// Time of the latest added value; older ones are ignored.
    remembered: Option<i64>,
}

/// Maximum gap in seasons; after a longer one, the forecast starts again.
const GAP_SEASONS: i64 = 2;
/// Tolerance in servers: the decomposition has single precision, and its rounding errors justify no server.
const ROUNDING: f64 = 0.01;

impl Default for Predictive {
    fn default() -> Self {
        Self {
            target: Target::default(),
            season: Duration::from_secs(86_400),
            step: Duration::from_secs(300),
            confidence: 0.9,
            forecast: Method::default(),
        }
    }
}

impl Predictive {
    /// Maximum number of steps in a season.
    pub const STEPS_MAX: u64 = 10_080;

    pub(crate) fn step_s(&self) -> i64 {
        (self.step.as_secs() as i64).max(1)
    }

    pub(crate) fn steps(&self) -> usize {
        (self.season.as_secs() / self.step.as_secs().max(1)).clamp(1, Self::STEPS_MAX) as usize
    }

    fn outlook(&self) -> Outlook {
        Outlook::new(self.forecast, self.steps(), self.confidence)
    }
}

impl Tracker {
    pub(crate) fn new(rule: &Predictive) -> Self {
        Self {
            rule: *rule,
            target: target::Tracker::new(&rule.target),
            outlook: rule.outlook(),
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
        let wall_s = situation.now.plus(situation.start_up).wall_s;
        let expected = self.outlook.at(wall_s.div_euclid(self.rule.step_s()), self.step);
        let (Band { likely, at_most }, by) = match expected {
            Ok(expected) => (expected.band, expected.by),
            Err(why) => return Proposal { reason: format!("{}; {why}", followed.reason), ..followed },
        };
        let demand = at_most / self.rule.target.utilisation;
        let foreseen = servers_for(demand - ROUNDING);
        let needed = followed.needed.max(foreseen);
        let forecast = format!(
            "in {} s demand is at most work for {demand:.2} servers ({:.0}% sure; most likely {:.2}, by {by})",
            situation.start_up.as_secs(),
            self.rule.confidence * 100.0,
            likely / self.rule.target.utilisation,
        );
        if foreseen > followed.wanted {
            Proposal { wanted: foreseen.min(situation.most), needed, reason: forecast }
        } else {
            let reason = format!("{}; {forecast}", followed.reason);
            Proposal { wanted: followed.wanted, needed, reason }
        }
    }

    /// Adds past demand; unknown steps count as the expected demand.
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

    /// Removes the past demand; the next demand may have any time.
    pub(crate) fn forget(&mut self) {
        self.outlook = self.rule.outlook();
        (self.sum, self.count, self.remembered) = (0.0, 0, None);
    }

    /// Fits the forecast again, if enough new points exist; returns true if it did. A fit takes about a
    /// millisecond.
    pub(crate) fn refit(&mut self) -> bool {
        self.outlook.refit()
    }

    fn close_steps(&mut self, next: i64) {
        if next - self.step > GAP_SEASONS * self.rule.steps() as i64 {
            // The position of the present demand in its season is unknown.
            self.outlook = self.rule.outlook();
        } else {
            self.outlook.push(self.step, self.sum / f64::from(self.count));
            (self.step + 1..next).for_each(|step| self.outlook.push(step, f64::NAN));
        }
        (self.sum, self.count) = (0.0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Now;

    const DAY: i64 = 86_400;

    /// Returns work for 10 servers from 8 to 18 o'clock, and for 2 at other times.
    fn demand(wall_s: i64) -> f64 {
        if (8 * 3_600..18 * 3_600).contains(&(wall_s % DAY)) { 10.0 } else { 2.0 }
    }

    fn tracker_after(days: i64) -> Tracker {
        let mut tracker = Tracker::new(&Predictive::default());
        (0..days * DAY / 60).for_each(|minute| tracker.remember(minute * 60, demand(minute * 60)));
        tracker
    }

    fn proposed(tracker: &mut Tracker, wall_s: i64) -> Proposal {
        tracker.propose(&Situation {
            now: Now { at: Duration::from_secs(wall_s as u64), wall_s },
            passed: Duration::from_secs(1),
            demand: Some(demand(wall_s)),
            is_complete: true,
            wanted: 2,
            start_up: Duration::from_secs(120),
            least: 1,
            most: 50,
        })
    }

    fn wanted(tracker: &mut Tracker, wall_s: i64) -> u32 {
        proposed(tracker, wall_s).wanted
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
    fn the_same_by_mstl_and_it_says_so() {
        let mut tracker = tracker_after(5);
        assert!(tracker.refit() && !tracker.refit());
        assert_eq!(wanted(&mut tracker, 5 * DAY + 60), 2);
        // The increase comes from the forecast: demand was low until now.
        let morning = proposed(&mut tracker, 5 * DAY + 8 * 3_600 - 100);
        assert!((10..=11).contains(&morning.wanted), "{morning:?}");
        assert!(morning.reason.contains("90% sure") && morning.reason.ends_with("by MSTL)"), "{morning:?}");
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
        let told = proposed(&mut tracker, 4_000 * DAY + 700);
        assert!(told.reason.contains("no whole season was seen yet"), "{told:?}");
    }

    #[test]
    fn what_was_forgotten_can_be_remembered_from_the_beginning() {
        let mut tracker = tracker_after(0);
        tracker.remember(4 * DAY, 2.0);
        tracker.forget();
        (0..5 * DAY / 60).for_each(|minute| tracker.remember(minute * 60, demand(minute * 60)));
        assert!(tracker.refit());
        assert!(wanted(&mut tracker, 5 * DAY + 8 * 3_600 - 100) >= 10);
    }

    #[test]
    fn after_a_long_gap_the_season_is_that_of_the_clock() {
        for forecast in [Method::HoltWinters, Method::Mstl] {
            let mut tracker = Tracker::new(&Predictive { forecast, ..Predictive::default() });
            tracker.remember(0, 2.0);
            // Resumes after ten days and some hours, for three days.
            let begins = 10 * DAY + 5 * 3_600;
            (0..3 * DAY / 60).for_each(|minute| {
                tracker.remember(begins + minute * 60, demand(begins + minute * 60));
            });
            assert_eq!(tracker.refit(), forecast == Method::Mstl);
            let morning = 13 * DAY + 8 * 3_600 - 100;
            assert!(wanted(&mut tracker, morning) >= 10, "{forecast:?}");
        }
    }
}
