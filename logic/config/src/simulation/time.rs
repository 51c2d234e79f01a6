//! Times of the simulation, with a resolution of nanoseconds.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

/// A time of the simulation in nanoseconds, at most 366 days. Finer than the durations of a config, because
/// service times are short.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize)]
#[serde(transparent)]
pub struct SimTime(pub u64);

/// A text that is not a [`SimTime`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadTime(String);

/// Longest unit first, so that a time is printed in the largest unit that gives a whole number.
const UNITS: [(&str, u64); 7] = [
    ("d", 86_400_000_000_000),
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

impl SimTime {
    /// Longest time.
    pub const MAX: Self = Self(366 * 86_400_000_000_000);

    /// Returns the time in seconds.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Converts seconds. Negative numbers and NaN become 0; longer times become [`SimTime::MAX`].
    pub fn from_seconds(seconds: f64) -> Self {
        // A cast from a float saturates, and turns NaN into 0.
        Self((seconds * 1e9).round() as u64).min(Self::MAX)
    }
}

impl FromStr for SimTime {
    type Err = BadTime;
    fn from_str(text: &str) -> Result<Self, BadTime> {
        let bad = || BadTime(crate::syntax::tree::short(text));
        let trimmed = text.trim();
        if trimmed == "0" {
            return Ok(Self(0));
        }
        let digits = trimmed.find(|c: char| !c.is_ascii_digit() && c != '.').ok_or_else(bad)?;
        let (number, unit) = trimmed.split_at(digits);
        let (_, nanos) = UNITS.iter().find(|(name, _)| *name == unit.trim_start()).ok_or_else(bad)?;
        let value: f64 = number.parse().map_err(|_| bad())?;
        let time = (value * *nanos as f64).round();
        if time > Self::MAX.0 as f64 { Err(bad()) } else { Ok(Self(time as u64)) }
    }
}

impl fmt::Display for SimTime {
    /// Prints at most four digits, for readers; the text does not parse back to the same time.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Times up to two minutes read better in seconds, longer ones in minutes or more.
        let fits = |(unit, nanos): &&(&str, u64)| self.0 >= *nanos && (*unit != "m" || self.0 >= 2 * nanos);
        let Some((unit, nanos)) = UNITS.iter().find(fits) else { return f.write_str("0s") };
        let value = self.0 as f64 / *nanos as f64;
        let decimals = if value >= 100.0 {
            0
        } else if value >= 10.0 {
            1
        } else {
            2
        };
        let text = format!("{value:.decimals$}");
        let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
        write!(f, "{text}{unit}")
    }
}

impl fmt::Display for BadTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is not a time such as \"250us\", \"1.5ms\", \"2s\", of at most 366 days", self.0)
    }
}

impl std::error::Error for BadTime {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_a_unit_and_may_have_a_fraction() {
        assert_eq!("1.5ms".parse(), Ok(SimTime(1_500_000)));
        assert_eq!(" 250 us".parse(), Ok(SimTime(250_000)));
        assert_eq!("0".parse(), Ok(SimTime(0)));
        assert_eq!("24h".parse(), Ok(SimTime(86_400_000_000_000)));
    }

    #[test]
    fn what_is_no_time_says_what_one_looks_like() {
        for text in ["", "5", "ms", "-1s", "1.5.2s", "1 fortnight", "999999d", "1e400s", "."] {
            let bad = text.parse::<SimTime>().unwrap_err().to_string();
            assert!(bad.contains("such as"), "{bad}");
        }
    }

    #[test]
    fn a_time_is_shown_in_its_largest_unit() {
        let shown = |nanos: u64| SimTime(nanos).to_string();
        assert_eq!(shown(0), "0s");
        assert_eq!(shown(1_500_000), "1.5ms");
        assert_eq!(shown(123_456_789), "123ms");
        assert_eq!(shown(90_000_000_000), "90s");
        assert_eq!(shown(86_400_000_000_000), "1d");
    }
}
