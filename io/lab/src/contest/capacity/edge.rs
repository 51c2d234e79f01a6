//! One end of the interval that contains the capacity. Separate loads confirm it with a known probability of
//! error.

/// Rate, and the side of the capacity on which it should be.
///
/// The capacity is the rate at which half of the loads meet the goal. A betting test shows that a rate is
/// below it. Of a wealth of 1, a share is bet at even odds on each load that it meets the goal. If the rate
/// is not below the capacity, the bet is at best fair. By Ville's inequality (1939), such a wealth reaches
/// 1/p with a probability of at most p, regardless of the stopping time (Shafer, 2021, "Testing by betting").
/// Loads must be independent except for the rate. If a rate cannot be confirmed, a rate further out is tried
/// with a stricter level. All attempts of an edge together are wrong with at most its error probability.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Edge {
    per_s: f64,
    /// True if loads should meet the goal at this rate, false if they should miss it.
    keeps: bool,
    /// Factor by which the next attempt moves the rate outwards, to the power of 1, 2, 4, ...
    step: f64,
    error: f64,
    attempt: i32,
    wealth: f64,
    loads: u32,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    Shown,
    /// Given up: even a rate far out could not be confirmed.
    Given,
}

/// Share of the wealth that is bet on each load. 7 agreeing loads confirm an edge of an interval of 95
/// percent. If one in ten disagrees, 10 loads do.
const STAKE: f64 = 0.8;
/// Wealth below which an attempt fails.
const RUIN: f64 = 0.1;
/// Maximum number of loads of an attempt. Then they agree hardly more often than not, and the attempt fails.
const LOADS_MAX: u32 = 24;
/// Maximum number of attempts. With a step of 2 percent, the last one is at 12 times the first rate. With a
/// step of 5 percent, it is beyond any useful rate.
const ATTEMPTS_MAX: i32 = 8;
/// Minimum rate. A probe of a lower rate takes too long.
const PER_S_MIN: f64 = 0.1;

impl Edge {
    /// Creates an edge that begins at `per_s`: below the capacity if `keeps`, else above it. It is wrong with
    /// a probability of at most `error`.
    pub(super) fn new(per_s: f64, keeps: bool, precision: f64, error: f64) -> Self {
        let step = if keeps { 1.0 / (1.0 + precision) } else { 1.0 + precision };
        Self { per_s, keeps, step, error, attempt: 0, wealth: 1.0, loads: 0, state: State::Open }
    }

    /// Returns the next rate to probe; `None` = the edge is decided.
    pub(super) fn next(&self) -> Option<f64> {
        (self.state == State::Open).then_some(self.per_s)
    }

    /// Returns the rate that is confirmed to be on this side of the capacity; `None` = none is known.
    pub(super) fn shown(&self) -> Option<f64> {
        (self.state == State::Shown).then_some(self.per_s)
    }

    /// Returns true if no rate could be confirmed to be on this side.
    pub(super) fn is_given_up(&self) -> bool {
        self.state == State::Given
    }

    /// Records the outcome of a load. Limits the next rate to `max_per_s`.
    pub(super) fn tell(&mut self, kept: bool, max_per_s: f64) {
        self.loads += 1;
        self.wealth *= if kept == self.keeps { 1.0 + STAKE } else { 1.0 - STAKE };
        if self.wealth * self.level() >= 1.0 {
            self.state = State::Shown;
        } else if self.wealth < RUIN || self.loads >= LOADS_MAX {
            self.per_s *= self.step.powf(2_f64.powi(self.attempt));
            self.attempt += 1;
            (self.wealth, self.loads) = (1.0, 0);
            if self.attempt >= ATTEMPTS_MAX || !(PER_S_MIN..=max_per_s).contains(&self.per_s) {
                self.state = State::Given;
            }
        }
    }

    /// Returns the permitted error probability of this attempt. The first attempt may use three quarters of
    /// the error, and each further one a quarter of the one before. The sum is the whole error.
    fn level(&self) -> f64 {
        self.error * 0.75 * 0.25_f64.powi(self.attempt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    const ERROR: f64 = 0.025;

    #[test]
    fn seven_loads_that_agree_show_it_and_one_that_does_not_costs_some_more() {
        let loads = |missed: Option<usize>| {
            let mut edge = Edge::new(100.0, true, 0.05, ERROR);
            let mut told = 0;
            while edge.next().is_some() {
                edge.tell(missed != Some(told), 1e6);
                told += 1;
            }
            (told, edge.shown())
        };
        assert_eq!(loads(None), (7, Some(100.0)));
        assert_eq!(loads(Some(3)), (11, Some(100.0)));
    }

    #[test]
    fn what_cannot_be_shown_is_tried_further_out_and_not_beyond_the_highest() {
        let mut below = Edge::new(100.0, true, 0.05, ERROR);
        below.tell(false, 1e6);
        assert_eq!(below.next(), Some(100.0));
        below.tell(false, 1e6);
        assert!(below.next().is_some_and(|per_s| (per_s - 100.0 / 1.05).abs() < 1e-9), "{below:?}");
        let mut above = Edge::new(100.0, false, 0.05, ERROR);
        (0..2).for_each(|_| above.tell(true, 104.0));
        assert!(above.next().is_none() && above.is_given_up() && above.shown().is_none(), "{above:?}");
    }

    #[test]
    fn a_rate_that_is_not_below_the_capacity_is_hardly_ever_shown_to_be() {
        let mut rng = Rng::new(1);
        let wrong = (0..4_000).filter(|_| {
            // Exactly at the capacity in each attempt.
            let mut edge = Edge::new(100.0, true, 0.05, ERROR);
            while edge.next().is_some() {
                edge.tell(rng.unit() < 0.5, 1e6);
            }
            edge.shown().is_some()
        });
        let wrong = wrong.count();
        // 2.5 percent of 4,000, and three standard deviations of 10.
        assert!(wrong <= 130, "{wrong}");
    }
}
