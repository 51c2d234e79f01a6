//! Rates from monotonic counters.

use std::time::Duration;

/// Follows a counter that grows until its source restarts.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counter {
    last: Option<(Duration, u64)>,
}

/// Change of a counter since the previous look.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Increase {
    /// The first look; there is no previous value.
    First,
    /// The counter grew or stayed the same.
    PerSecond(f64),
    /// The counter went back; the count in between is unknown.
    Reset,
    /// No time has passed.
    SameTime,
}

impl Counter {
    /// Records the counter's value and returns its change.
    pub fn look(&mut self, at: Duration, count: u64) -> Increase {
        let Some((before, counted)) = self.last else {
            self.last = Some((at, count));
            return Increase::First;
        };
        let passed = at.saturating_sub(before);
        if passed.is_zero() {
            return Increase::SameTime;
        }
        self.last = Some((at, count));
        match count.checked_sub(counted) {
            Some(grown) => Increase::PerSecond(grown as f64 / passed.as_secs_f64()),
            None => Increase::Reset,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn s(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_counter_that_begins_anew_is_recognised_and_counts_again_from_there() {
        let mut counter = Counter::default();
        assert_eq!(counter.look(s(0), 1_000), Increase::First);
        assert_eq!(counter.look(s(2), 1_030), Increase::PerSecond(15.0));
        assert_eq!(counter.look(s(3), 4), Increase::Reset);
        assert_eq!(counter.look(s(4), 24), Increase::PerSecond(20.0));
    }

    #[test]
    fn no_time_is_no_rate() {
        let mut counter = Counter::default();
        counter.look(s(1), 10);
        assert_eq!(counter.look(s(1), 20), Increase::SameTime);
        // A look without elapsed time loses no count.
        assert_eq!(counter.look(s(2), 30), Increase::PerSecond(20.0));
    }
}
