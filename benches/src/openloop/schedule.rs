//! Schedules of open loops.

use std::time::Duration;

/// Distribution of the requests over time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arrivals {
    /// Evenly spaced.
    Even,
    /// Independent of each other; the same sequence for the same seed.
    Poisson { seed: u64 },
}

/// Due times of requests, from the start.
#[derive(Debug)]
pub(super) struct Schedule {
    arrivals: Arrivals,
    gap_ns: f64,
    next: u64,
    next_at_ns: f64,
    total: u64,
}

impl Schedule {
    /// Creates a schedule of `rate_per_s` requests a second for `duration`.
    pub(super) fn new(arrivals: Arrivals, rate_per_s: f64, duration: Duration) -> Self {
        let total = (rate_per_s * duration.as_secs_f64()) as u64;
        Self { arrivals, gap_ns: 1e9 / rate_per_s, next: 0, next_at_ns: 0.0, total }
    }

    /// Returns the total number of requests.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// Returns the due time of the next request; `None` = all have started.
    pub(super) fn peek(&self) -> Option<Duration> {
        (self.next < self.total).then(|| Duration::from_nanos(self.next_at_ns as u64))
    }

    /// Moves on to the next request.
    pub(super) fn advance(&mut self) {
        self.next += 1;
        self.next_at_ns = match self.arrivals {
            // Computed from the number, so that rounding errors do not add up.
            Arrivals::Even => self.next as f64 * self.gap_ns,
            Arrivals::Poisson { seed } => self.next_at_ns + exponential(seed, self.next) * self.gap_ns,
        };
    }
}

/// Returns an exponentially distributed number with mean 1, by inversion of the distribution function.
fn exponential(seed: u64, number: u64) -> f64 {
    // SplitMix64, David Blackman and Sebastiano Vigna.
    let mut z = seed.wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    let uniform = ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64;
    -(1.0 - uniform).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_evenly_spaced_over_the_whole_duration() {
        let mut schedule = Schedule::new(Arrivals::Even, 3.0, Duration::from_secs(1000));
        assert_eq!(schedule.total(), 3000);
        let mut due = Vec::new();
        while let Some(next) = schedule.peek() {
            due.push(next);
            schedule.advance();
        }
        assert_eq!(due.len(), 3000);
        assert_eq!(due[0], Duration::ZERO);
        // A third of a second is not exact in binary; the last request must nevertheless be on time.
        assert!(due[2999].abs_diff(Duration::from_millis(999_666)) < Duration::from_millis(1));
    }

    #[test]
    fn gaps_of_independent_arrivals_have_the_mean_and_the_spread_of_the_exponential_law() {
        let gaps: Vec<f64> = (1..=100_000).map(|number| exponential(7, number)).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean - 1.0).abs() < 0.02 && (variance - 1.0).abs() < 0.05, "{mean} {variance}");
    }
}
