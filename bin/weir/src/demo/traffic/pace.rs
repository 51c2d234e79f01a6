//! Schedules requests at one rate, or at two alternating rates.

use std::time::Duration;

/// Rate at which requests are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    /// A fixed number of requests per second.
    Steady(u32),
    /// Two rates in alternation, each for `seconds`.
    Turns { first: u32, then: u32, seconds: u32 },
}

impl Pace {
    /// Returns the requests per second; of two rates the first.
    pub(crate) fn rate_per_s(self) -> u32 {
        match self {
            Self::Steady(rate) | Self::Turns { first: rate, .. } => rate,
        }
    }

    /// Returns the time after the start at which a request is due. It is computed from the number, so that
    /// rounding errors do not add up.
    pub(super) fn due(self, number: u64) -> Duration {
        match self {
            Self::Steady(rate) => after(number, rate),
            Self::Turns { first, then, seconds } => {
                let in_turn = |rate: u32| u64::from(rate.max(1)) * u64::from(seconds.max(1));
                let turn = Duration::from_secs(seconds.max(1).into());
                let (rounds, left) =
                    (number / (in_turn(first) + in_turn(then)), number % (in_turn(first) + in_turn(then)));
                let begun = 2 * turn * u32::try_from(rounds).unwrap_or(u32::MAX);
                match left.checked_sub(in_turn(first)) {
                    None => begun + after(left, first),
                    Some(left) => begun + turn + after(left, then),
                }
            }
        }
    }
}

fn after(number: u64, rate_per_s: u32) -> Duration {
    let rate = u64::from(rate_per_s.max(1));
    Duration::from_secs(number / rate) + Duration::from_secs(1).mul_f64((number % rate) as f64 / rate as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schedule_keeps_its_rate_for_ever() {
        let due = |number, rate| Pace::Steady(rate).due(number);
        assert_eq!(due(0, 200), Duration::ZERO);
        assert_eq!(due(1, 200), Duration::from_millis(5));
        assert_eq!(due(7 * 3_600 * 24 * 3, 3), Duration::from_secs(7 * 3_600 * 24));
    }

    #[test]
    fn rates_take_turns() {
        let pace = Pace::Turns { first: 70, then: 10, seconds: 20 };
        for (number, second) in
            [(0, 0), (70, 1), (1_399 + 1, 20), (1_410, 21), (1_600, 40), (1_670, 41), (3_200, 80)]
        {
            assert_eq!(pace.due(number), Duration::from_secs(second), "{number}");
        }
        assert!((0..5_000).all(|number| pace.due(number) < pace.due(number + 1)));
    }
}
