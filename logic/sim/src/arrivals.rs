//! Arrival times of simulated requests.

use weir_config::simulation::Pattern;

use crate::rng::{Rng, Stream};

/// Arrival times of requests, one after the other. They are kept in fractions of nanoseconds, so that
/// rounding errors do not add up.
#[derive(Debug)]
pub(crate) struct Arrivals {
    rng: Rng,
    now_ns: f64,
    count: u64,
    shape: Shape,
}

/// Shape of the arrival rate over time; rates are per nanosecond.
#[derive(Debug)]
enum Shape {
    Constant { gap_ns: f64 },
    Poisson { rate: f64 },
    Bursty { is_on: bool, until_ns: f64, rates: [f64; 2], lengths_ns: [f64; 2] },
    Daily { rates: Vec<f64>, part_ns: f64 },
}

impl Arrivals {
    /// Creates arrivals with a mean of `per_second` requests per second.
    pub(crate) fn new(pattern: &Pattern, per_second: f64, seed: u64) -> Self {
        let mut rng = Rng::new(seed, Stream::Arrivals);
        let rate = per_second / 1e9;
        let shape = match pattern {
            Pattern::Constant => Shape::Constant { gap_ns: 1.0 / rate },
            Pattern::Poisson => Shape::Poisson { rate },
            Pattern::Bursty(burst) => {
                let lengths_ns = [burst.off.0 as f64, burst.on.0 as f64];
                let share_on = lengths_ns[1] / (lengths_ns[0] + lengths_ns[1]);
                // The part of the mean that is left outside bursts. The check of the scenario leaves at most
                // a rounding error.
                let off = ((1.0 - burst.factor * share_on) / (1.0 - share_on)).max(0.0);
                let rates = [rate * off, rate * burst.factor];
                let is_on = rng.unit() <= share_on;
                let until_ns = lengths_ns[usize::from(is_on)] * rng.exponential();
                Shape::Bursty { is_on, until_ns, rates, lengths_ns }
            }
            Pattern::Daily { curve, day } => {
                let mean = curve.iter().sum::<f64>() / curve.len().max(1) as f64;
                let rates = curve.iter().map(|relative| rate * relative / mean).collect();
                Shape::Daily { rates, part_ns: day.0 as f64 / curve.len().max(1) as f64 }
            }
        };
        Self { rng, now_ns: 0.0, count: 0, shape }
    }

    /// Returns the next arrival, in nanoseconds from the start.
    pub(crate) fn next(&mut self) -> u64 {
        self.count += 1;
        match &mut self.shape {
            Shape::Constant { gap_ns } => self.now_ns = self.count as f64 * *gap_ns,
            Shape::Poisson { rate } => self.now_ns += self.rng.exponential() / *rate,
            Shape::Bursty { is_on, until_ns, rates, lengths_ns } => {
                // In a Poisson stream of changing rate, the expected number of requests between two arrivals
                // is exponentially distributed.
                let mut amount = self.rng.exponential();
                loop {
                    let rate = rates[usize::from(*is_on)];
                    let fits = rate * (*until_ns - self.now_ns);
                    if fits >= amount {
                        self.now_ns += amount / rate;
                        break;
                    }
                    amount -= fits;
                    self.now_ns = *until_ns;
                    *is_on = !*is_on;
                    *until_ns += lengths_ns[usize::from(*is_on)] * self.rng.exponential();
                }
            }
            Shape::Daily { rates, part_ns } => {
                let mut amount = self.rng.exponential();
                let day_amount: f64 = rates.iter().sum::<f64>() * *part_ns;
                // Whole days without a request are skipped at once.
                let days = (amount / day_amount).floor();
                amount -= days * day_amount;
                self.now_ns += days * *part_ns * rates.len() as f64;
                let mut part = (self.now_ns / *part_ns).floor();
                loop {
                    let rate = rates[(part % rates.len() as f64) as usize % rates.len()];
                    let end_ns = (part + 1.0) * *part_ns;
                    let fits = rate * (end_ns - self.now_ns).max(0.0);
                    if fits >= amount && rate > 0.0 {
                        self.now_ns += amount / rate;
                        break;
                    }
                    amount -= fits;
                    self.now_ns = end_ns;
                    part += 1.0;
                }
            }
        }
        // The cast saturates.
        self.now_ns.round() as u64
    }
}

#[cfg(test)]
mod tests {
    use weir_config::simulation::{Burst, SimTime};

    use super::*;

    const COUNT: usize = 300_000;

    fn times(pattern: &Pattern) -> Vec<u64> {
        let mut arrivals = Arrivals::new(pattern, 1000.0, 9);
        (0..COUNT).map(|_| arrivals.next()).collect()
    }

    fn bursty() -> Pattern {
        Pattern::Bursty(Burst { factor: 4.0, on: SimTime(20_000_000), off: SimTime(80_000_000) })
    }

    /// Returns variance / mean of the counts in windows of 10 ms; it is 1 for a Poisson stream.
    fn dispersion(times: &[u64]) -> f64 {
        let windows = (times[times.len() - 1] / 10_000_000) as usize;
        let mut counts = vec![0.0; windows + 1];
        times.iter().for_each(|at| counts[(at / 10_000_000) as usize] += 1.0);
        let mean = counts.iter().sum::<f64>() / counts.len() as f64;
        counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / counts.len() as f64 / mean
    }

    #[test]
    fn every_pattern_has_the_rate_that_was_asked_for_and_never_goes_back() {
        let daily = Pattern::Daily { curve: vec![0.0, 1.0, 5.0], day: SimTime(3_000_000_000) };
        for pattern in [Pattern::Constant, Pattern::Poisson, bursty(), daily] {
            let times = times(&pattern);
            assert!(times.is_sorted());
            let rate = COUNT as f64 / (times[COUNT - 1] as f64 / 1e9);
            assert!((rate / 1000.0 - 1.0).abs() < 0.02, "{pattern:?}: {rate}");
        }
    }

    #[test]
    fn bursts_are_burstier_than_poisson_and_constant_is_not() {
        assert!(dispersion(&times(&Pattern::Constant)) < 0.1);
        assert!((dispersion(&times(&Pattern::Poisson)) - 1.0).abs() < 0.05);
        assert!(dispersion(&times(&bursty())) > 5.0);
    }

    #[test]
    fn a_day_follows_its_curve() {
        let times = times(&Pattern::Daily { curve: vec![0.0, 1.0, 3.0], day: SimTime(300_000_000) });
        let mut parts = [0.0_f64; 3];
        times.iter().for_each(|at| parts[(at / 100_000_000 % 3) as usize] += 1.0);
        assert_eq!(parts[0], 0.0);
        assert!((parts[2] / parts[1] - 3.0).abs() < 0.05, "{parts:?}");
    }

    #[test]
    fn a_night_of_years_is_passed_over_at_once() {
        let curve = Pattern::Daily { curve: vec![1.0, 0.0], day: SimTime(1_000) };
        assert!(Arrivals::new(&curve, 1e-3, 1).next() > 1_000_000_000);
    }
}
