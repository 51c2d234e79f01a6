//! One end of the interval that holds the capacity: shown by loads of its own, with a stated chance of being wrong.

/// A rate, and on which side of the capacity it is to be.
///
/// The capacity is the rate at which a load keeps the goal as often as not. That a rate is below it is shown by betting: of
/// a wealth of 1 a share is put, at even odds, on each load that it keeps the goal. If the rate is not below, that is no better
/// than fair, and by Ville's inequality (1939) such a wealth ever reaches 1 / p with a probability of at most p, whenever one
/// stops (Shafer, 2021, "Testing by betting"). Loads must not depend on each other but by the rate. A rate that cannot be shown makes
/// way for one further out, which must be shown more surely, so that all attempts of an edge together are wrong with no more than its error.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Edge {
    per_s: f64,
    /// Loads are to keep the goal; else to miss it.
    keeps: bool,
    /// Further out in the next attempt, as a factor of the rate: to the power of 1, 2, 4, ...
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
    /// Not even far out.
    Given,
}

/// Of the wealth, on each load: 7 loads that agree show an edge of an interval of 95 percent, and with one in ten that does not, 10 do.
const STAKE: f64 = 0.8;
/// With so little an attempt is lost.
const RUIN: f64 = 0.1;
/// With so many loads, too: they agree hardly more often than not.
const LOADS_MAX: u32 = 24;
/// The last is 12 times as far out as the first, where a step is 2 percent, and beyond all reason where it is 5.
const ATTEMPTS_MAX: i32 = 8;
/// Lower rates take too long to ask.
const PER_S_MIN: f64 = 0.1;

impl Edge {
    /// At `per_s` at first, below the capacity if loads are to keep the goal, else above it; wrong with a probability of at most `error`.
    pub(super) fn new(per_s: f64, keeps: bool, precision: f64, error: f64) -> Self {
        let step = if keeps { 1.0 / (1.0 + precision) } else { 1.0 + precision };
        Self { per_s, keeps, step, error, attempt: 0, wealth: 1.0, loads: 0, state: State::Open }
    }

    /// The rate to ask next; `None` = it is over.
    pub(super) fn next(&self) -> Option<f64> {
        (self.state == State::Open).then_some(self.per_s)
    }

    /// The rate that is on this side of the capacity; `None` = none is known.
    pub(super) fn shown(&self) -> Option<f64> {
        (self.state == State::Shown).then_some(self.per_s)
    }

    /// No rate could be shown to be on this side.
    pub(super) fn is_given_up(&self) -> bool {
        self.state == State::Given
    }

    /// What a load came to. No rate beyond `max_per_s` is asked.
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

    /// How probably this attempt may be wrong: three quarters of the error for the first, and a quarter of that for each one more, which
    /// is all of it in the end.
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
            // Precisely at it, at every attempt.
            let mut edge = Edge::new(100.0, true, 0.05, ERROR);
            while edge.next().is_some() {
                edge.tell(rng.unit() < 0.5, 1e6);
            }
            edge.shown().is_some()
        });
        let wrong = wrong.count();
        // 2.5 percent of 4,000, and three deviations of 10.
        assert!(wrong <= 130, "{wrong}");
    }
}
