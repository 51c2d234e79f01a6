//! Zipf-distributed random numbers.

use weir_config::simulation::Population;

use crate::rng::Rng;

/// A population from which the n-th member is drawn in proportion to 1 / n^zipf, in constant time and memory.
///
/// The method is rejection-inversion (Hörmann and Derflinger: "Rejection-inversion to generate variates from
/// monotone discrete distributions", 1996).
#[derive(Debug, Clone)]
pub(crate) struct Zipf {
    count: u64,
    exponent: f64,
    area_first: f64,
    area_all: f64,
    shortcut: f64,
}

impl Zipf {
    pub(crate) fn new(population: Population) -> Self {
        let (count, exponent) = (population.count.max(1), population.zipf);
        let mut zipf = Self { count, exponent, area_first: 0.0, area_all: 0.0, shortcut: 0.0 };
        zipf.area_first = zipf.area(1.5) - 1.0;
        zipf.area_all = zipf.area(count as f64 + 0.5);
        zipf.shortcut = 2.0 - zipf.area_inverse(zipf.area(2.5) - zipf.density(2.0));
        zipf
    }

    /// Draws a number from 0, the most frequent, to `count` - 1.
    pub(crate) fn draw(&self, rng: &mut Rng) -> u64 {
        if self.exponent == 0.0 || self.count == 1 {
            return rng.below(self.count);
        }
        loop {
            let area = self.area_all + rng.unit() * (self.area_first - self.area_all);
            let x = self.area_inverse(area);
            let rank = x.round().clamp(1.0, self.count as f64);
            if rank - x <= self.shortcut || area >= self.area(rank + 0.5) - self.density(rank) {
                return (rank as u64 - 1).min(self.count - 1);
            }
        }
    }

    fn density(&self, x: f64) -> f64 {
        (-self.exponent * x.ln()).exp()
    }

    /// Returns the integral of the density from 1 to `x`.
    fn area(&self, x: f64) -> f64 {
        let log = x.ln();
        let power = (1.0 - self.exponent) * log;
        // Near exponent 1 the quotient loses precision; it tends to 1.
        let quotient = if power.abs() > 1e-8 { power.exp_m1() / power } else { 1.0 + power / 2.0 };
        quotient * log
    }

    fn area_inverse(&self, area: f64) -> f64 {
        let power = ((1.0 - self.exponent) * area).max(-1.0);
        let quotient = if power.abs() > 1e-8 { power.ln_1p() / power } else { 1.0 - power / 2.0 };
        (quotient * area).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;

    #[test]
    fn shares_are_those_of_zipfs_law() {
        const DRAWS: usize = 400_000;
        for exponent in [0.0, 0.5, 1.0, 1.7] {
            let zipf = Zipf::new(Population { count: 50, zipf: exponent });
            let mut rng = Rng::new(3, Stream::Uris);
            let mut counts = [0_u64; 50];
            (0..DRAWS).for_each(|_| counts[zipf.draw(&mut rng) as usize] += 1);
            let total: f64 = (1..=50).map(|n| f64::from(n).powf(-exponent)).sum();
            for (index, count) in counts.iter().enumerate() {
                let expected = (index as f64 + 1.0).powf(-exponent) / total * DRAWS as f64;
                let deviations = (*count as f64 - expected) / expected.sqrt();
                assert!(deviations.abs() < 5.0, "exponent {exponent}, rank {index}: {count} for {expected}");
            }
        }
    }

    #[test]
    fn a_population_of_one_or_of_a_trillion_is_drawn_from() {
        let mut rng = Rng::new(1, Stream::Uris);
        assert_eq!(Zipf::new(Population { count: 1, zipf: 1.0 }).draw(&mut rng), 0);
        let large = Zipf::new(Population { count: 1 << 40, zipf: 0.6 });
        assert!((0..10_000).all(|_| large.draw(&mut rng) < 1 << 40));
        let steep = Zipf::new(Population { count: 1 << 40, zipf: 10.0 });
        assert!((0..10_000).all(|_| steep.draw(&mut rng) < 100));
    }
}
