//! Due times of requests, which are fixed before the first request and independent of the server.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::rng::Rng;
use crate::units;

/// Period of time with a constant or linearly changing rate.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// Rate at the beginning, in requests (or sessions) per second.
    pub from_per_s: f64,
    /// Rate at the end, in requests (or sessions) per second.
    pub to_per_s: f64,
    /// Duration, in seconds.
    pub duration_s: f64,
}

/// Spacing of arrivals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// Evenly spaced: arrival i of a constant rate is due at i / rate.
    Even,
    /// Poisson process: arrivals are independent. The sequence is the same for the same seed.
    Poisson {
        /// Seed of the random numbers.
        seed: u64,
    },
}

/// Consecutive phases.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Phases(Vec<Phase>);

/// Reason why a rate is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RateError(String);

/// Maximum accepted rate, per second.
pub const RATE_MAX: f64 = 100e6;

impl Phase {
    /// Returns the number of arrivals in the phase, which need not be a whole number.
    fn area(&self) -> f64 {
        (self.from_per_s + self.to_per_s) / 2.0 * self.duration_s
    }

    /// Returns the time after which `count` arrivals have come, in seconds from the beginning of the phase.
    /// Solves `a t + (b - a) t^2 / 2T = count` in the form that does not divide by the difference of the two
    /// rates.
    fn time_of(&self, count: f64) -> f64 {
        let (a, b) = (self.from_per_s, self.to_per_s);
        let root = (a * a + 2.0 * (b - a) * count / self.duration_s).max(0.0).sqrt();
        if a + root > 0.0 { 2.0 * count / (a + root) } else { 0.0 }
    }
}

impl Phases {
    /// Parses `RATE`, `FROM..TO`, or a list of them with durations: `100@10s,100..500@1m,500@30s`. A phase
    /// without a duration lasts `duration`. With `steps`, `FROM..TO` changes in that number of equal steps
    /// instead of linearly.
    ///
    /// # Errors
    /// If a rate is malformed, or if no phase has a request.
    pub fn parse(text: &str, duration: Duration, steps: Option<u32>) -> Result<Self, RateError> {
        let mut phases = Vec::new();
        for part in text.split(',') {
            let (rates, lasts) = match part.split_once('@') {
                Some((rates, lasts)) => (rates, units::duration(lasts).map_err(RateError)?),
                None => (part, duration),
            };
            let (from, to) = match rates.split_once("..") {
                Some((from, to)) => (rate(from)?, rate(to)?),
                None => (rate(rates)?, rate(rates)?),
            };
            let duration_s = lasts.as_secs_f64();
            match steps {
                Some(steps) if from != to => {
                    let steps = steps.max(2);
                    let at = |step: u32| from + (to - from) * f64::from(step) / f64::from(steps - 1);
                    let each = |step| Phase {
                        from_per_s: at(step),
                        to_per_s: at(step),
                        duration_s: duration_s / f64::from(steps),
                    };
                    phases.extend((0..steps).map(each));
                }
                _ => phases.push(Phase { from_per_s: from, to_per_s: to, duration_s }),
            }
        }
        Self::new(phases)
    }

    /// Creates phases.
    ///
    /// # Errors
    /// If the phases have no request, or more than 10^12.
    pub fn new(phases: Vec<Phase>) -> Result<Self, RateError> {
        let phases = Self(phases);
        let area = phases.requests();
        if area <= 0.0 {
            return Err(RateError(
                "asks for no request: a rate and a duration above 0 are needed".to_owned(),
            ));
        }
        if area > 1e12 {
            return Err(RateError("asks for more than 10^12 requests".to_owned()));
        }
        Ok(phases)
    }

    /// Returns the total duration, in seconds.
    pub fn duration_s(&self) -> f64 {
        self.0.iter().map(|phase| phase.duration_s).sum()
    }

    /// Returns the highest rate of all phases.
    pub fn rate_max_per_s(&self) -> f64 {
        self.0.iter().map(|phase| phase.from_per_s.max(phase.to_per_s)).fold(0.0, f64::max)
    }

    /// Returns the mean number of arrivals in all phases.
    pub fn requests(&self) -> f64 {
        self.0.iter().map(Phase::area).sum()
    }
}

impl fmt::Display for Phases {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, phase) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str(", ")?;
            }
            if at == 4 && self.0.len() > 6 {
                return write!(f, "... ({} phases)", self.0.len());
            }
            let lasts = units::seconds(phase.duration_s);
            if phase.from_per_s == phase.to_per_s {
                write!(f, "{}/s for {lasts}", units::number(phase.from_per_s))?;
            } else {
                let (from, to) = (units::number(phase.from_per_s), units::number(phase.to_per_s));
                write!(f, "{from}/s to {to}/s in {lasts}")?;
            }
        }
        Ok(())
    }
}

fn rate(text: &str) -> Result<f64, RateError> {
    let (number, per_s) = match text.split_once('/') {
        None => (text, 1.0),
        Some((number, "s")) => (number, 1.0),
        Some((number, "m" | "min")) => (number, 1.0 / 60.0),
        Some((number, "h")) => (number, 1.0 / 3600.0),
        Some(_) => {
            return Err(RateError(format!("{text:?}: a rate is a number, alone or with /s, /m or /h")));
        }
    };
    match f64::from_str(number.trim()) {
        Ok(number) if (0.0..=RATE_MAX).contains(&(number * per_s)) => Ok(number * per_s),
        Ok(_) => Err(RateError(format!("{text:?} is out of range: 0 to {}/s", units::number(RATE_MAX)))),
        Err(_) => Err(RateError(format!("{text:?} is no rate: write 500, 500/s, 30/m or 10..200"))),
    }
}

/// Due times of arrivals, in order.
///
/// An even arrival comes when the area under the rate reaches the next whole number. A Poisson arrival comes
/// when the area reaches a sum of exponential steps with mean 1.
#[derive(Debug, Clone)]
pub(crate) struct Schedule<'p> {
    phases: &'p [Phase],
    rng: Option<Rng>,
    /// Area under the rate at the next arrival.
    count: f64,
    /// Arrivals and seconds before the first of `phases`.
    before: (f64, f64),
}

impl<'p> Schedule<'p> {
    pub(crate) fn new(phases: &'p Phases, arrivals: Arrivals) -> Self {
        let mut rng = match arrivals {
            Arrivals::Even => None,
            Arrivals::Poisson { seed } => Some(Rng::new(seed)),
        };
        let count = rng.as_mut().map_or(0.0, Rng::exponential);
        Self { phases: &phases.0, rng, count, before: (0.0, 0.0) }
    }
}

impl Iterator for Schedule<'_> {
    /// Due time in nanoseconds from the start.
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        loop {
            let (phase, rest) = self.phases.split_first()?;
            let within = self.count - self.before.0;
            // Sums of many small numbers can miss a whole number slightly.
            if within < phase.area() - 1e-9 * self.count.max(1.0) {
                let at_s = self.before.1 + phase.time_of(within);
                self.count += self.rng.as_mut().map_or(1.0, Rng::exponential);
                return Some((at_s * 1e9).round() as u64);
            }
            self.before = (self.before.0 + phase.area(), self.before.1 + phase.duration_s);
            self.phases = rest;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Phases {
        Phases::parse(text, Duration::from_secs(10), None).unwrap()
    }

    fn due(phases: &Phases) -> Vec<u64> {
        Schedule::new(phases, Arrivals::Even).collect()
    }

    #[test]
    fn request_i_of_a_constant_rate_is_due_at_i_over_rate() {
        let due = due(&parse("400"));
        assert_eq!(due.len(), 4000);
        assert!(due.iter().enumerate().all(|(at, due)| *due == at as u64 * 2_500_000));
    }

    #[test]
    fn a_ramp_has_the_area_under_its_line() {
        let phases = parse("0..100@10s");
        let due = due(&phases);
        assert_eq!(due.len(), 500);
        // A quarter of all arrivals are in the first half.
        assert_eq!(due.iter().filter(|due| **due < 5_000_000_000).count(), 125);
        assert!(due.is_sorted());
    }

    #[test]
    fn steps_go_from_the_first_rate_to_the_last() {
        let phases = Phases::parse("100..500", Duration::from_secs(5), Some(5)).unwrap();
        let due = due(&phases);
        let within = |second: u64| due.iter().filter(|due| **due / 1_000_000_000 == second).count();
        assert_eq!((0..5).map(within).collect::<Vec<_>>(), [100, 200, 300, 400, 500]);
    }

    #[test]
    fn phases_follow_each_other_without_a_gap() {
        let due = due(&parse("10@1s,0@1s,20@1s"));
        assert_eq!(due.len(), 30);
        assert_eq!((due[9], due[10], due[11]), (900_000_000, 2_000_000_000, 2_050_000_000));
    }

    #[test]
    fn poisson_arrivals_have_the_rate_and_repeat_with_the_seed() {
        let phases = parse("1000@10s");
        let draw = |seed| Schedule::new(&phases, Arrivals::Poisson { seed }).collect::<Vec<_>>();
        let due = draw(3);
        assert!((9_600..10_400).contains(&due.len()), "{}", due.len());
        assert!(due.is_sorted() && due != draw(4));
        assert_eq!(due, draw(3));
        // Of exponential gaps, the share 1/e is longer than the mean.
        let longer = due.windows(2).filter(|pair| pair[1] - pair[0] > 1_000_000).count() as f64;
        assert!((longer / due.len() as f64 - 0.368).abs() < 0.02, "{longer}");
    }

    #[test]
    fn what_is_no_rate_is_told_so() {
        let error = |text: &str| Phases::parse(text, Duration::from_secs(1), None).unwrap_err().to_string();
        assert!(error("0").contains("no request"));
        assert!(error("fast").contains("no rate"));
        assert!(error("-1").contains("out of range"));
        assert!(error("5/x").contains("/s, /m or /h"));
        assert!(error("1e300").contains("out of range"));
        assert!(error("5@soon").contains("soon"));
    }
}
