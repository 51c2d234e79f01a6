//! Medians with confidence intervals.

use super::interval::of_median;
use super::rng::Rng;

/// A median with its confidence interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Lower end of the interval.
    pub low: f64,
    /// Median of the values. For differences between pairs, it is the median of all pairwise averages.
    pub median: f64,
    /// Upper end of the interval.
    pub high: f64,
    /// Probability that the interval contains the true median, 0 to 1. It is at least 0.95, except for fewer
    /// than 6 values, whose interval is their range.
    pub confidence: f64,
}

/// Minimum number of values for the bootstrap. With fewer values its intervals are too narrow: with 7 values
/// they contain the median in 87 of 100 cases instead of 95.
const BOOTSTRAP_MIN: usize = 50;
/// Number of resamples. More of them change the ends of an interval by less than its noise.
const RESAMPLES: usize = 2_000;
pub(super) const CONFIDENCE: f64 = 0.95;

impl Estimate {
    /// Estimates the median of the values. For fewer than 50 values, the interval is exact, by order
    /// statistics. For more, it is the percentile bootstrap (Efron, 1979): the middle 95 percent of the
    /// medians of 2,000 resamples with replacement. Returns `None` if there are no values, or if one is NaN.
    pub fn of(values: &[f64], seed: u64) -> Option<Self> {
        let own = median(values)?;
        if values.len() < BOOTSTRAP_MIN {
            let mut sorted = values.to_vec();
            sorted.sort_by(f64::total_cmp);
            let (low, high, confidence) = of_median(&sorted, CONFIDENCE)?;
            return Some(Self { low, median: own, high, confidence });
        }
        let mut rng = Rng::new(seed);
        let mut drawn = vec![0.0; values.len()];
        let mut medians: Vec<f64> = (0..RESAMPLES)
            .filter_map(|_| {
                drawn.iter_mut().for_each(|value| *value = values[rng.below(values.len())]);
                median(&drawn)
            })
            .collect();
        medians.sort_by(f64::total_cmp);
        let at = |share: f64| medians.get((share * (medians.len() - 1) as f64).round() as usize).copied();
        Some(Self {
            low: at(0.025)?.min(own),
            median: own,
            high: at(0.975)?.max(own),
            confidence: CONFIDENCE,
        })
    }

    /// Returns true if there are too few values for 95 percent confidence, so that the interval is only their
    /// range.
    pub fn is_range(&self) -> bool {
        self.confidence < CONFIDENCE
    }
}

/// Returns the middle value, or the mean of the two middle values. Returns `None` if there are no values, or
/// if one is NaN.
pub fn median(values: &[f64]) -> Option<f64> {
    if values.is_empty() || values.iter().any(|value| value.is_nan()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let half = sorted.len() / 2;
    Some(if sorted.len() % 2 == 1 { sorted[half] } else { f64::midpoint(sorted[half - 1], sorted[half]) })
}
