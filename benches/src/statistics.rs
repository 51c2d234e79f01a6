//! Statistics for paired turns.

use serde::Serialize;

/// A median with the extremes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Spread {
    pub(crate) min: f64,
    pub(crate) median: f64,
    pub(crate) max: f64,
}

impl Spread {
    /// Computes the spread; `None` without values.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut sorted: Vec<f64> = values.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let (min, max) = (*sorted.first()?, *sorted.last()?);
        Some(Self { min, median: median_of_sorted(&sorted), max })
    }
}

/// A median with the order statistics that enclose the true median with at least 95% confidence, for any
/// distribution. A single turn with a stall cannot widen it (sign test; Conover, Practical Nonparametric
/// Statistics, section 3.2).
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Interval {
    pub(crate) low: f64,
    pub(crate) median: f64,
    pub(crate) high: f64,
}

impl Interval {
    /// Computes the interval. `None` with fewer than six values, because even their extremes would not give
    /// 95% confidence.
    pub(crate) fn of(values: &[f64]) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let below = values_outside(sorted.len())?;
        let (low, high) = (sorted[below], sorted[sorted.len() - 1 - below]);
        Some(Self { low, median: median_of_sorted(&sorted), high })
    }
}

/// Returns how many of `count` sorted values lie outside the interval at each end. It is the largest number
/// of heads such that a fair coin shows as few or fewer in at most 2.5% of the cases.
fn values_outside(count: usize) -> Option<usize> {
    let mut exactly = 0.5f64.powi(i32::try_from(count).ok()?);
    let mut at_most = 0.0;
    let mut outside = None;
    for heads in 0..count {
        at_most += exactly;
        if at_most > 0.025 {
            break;
        }
        outside = Some(heads);
        exactly *= (count - heads) as f64 / (heads + 1) as f64;
    }
    outside
}

/// Returns the smallest value that is not below a share of the sorted samples (nearest rank); 0 without
/// samples.
pub(crate) fn quantile(sorted: &[u64], share: f64) -> u64 {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1).min(sorted.len().saturating_sub(1))).copied().unwrap_or(0)
}

fn median_of_sorted(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_of_values_lies_between_the_middle_two() {
        let spread = Spread::of([4.0, 1.0, 3.0, 2.0]);
        assert_eq!(spread, Some(Spread { min: 1.0, median: 2.5, max: 4.0 }));
        assert_eq!(Spread::of([]), None);
    }

    #[test]
    fn quantiles_are_values_that_were_measured() {
        let sorted: Vec<u64> = (1..=1000).collect();
        assert_eq!(quantile(&sorted, 0.5), 500);
        assert_eq!(quantile(&sorted, 0.99), 990);
        assert_eq!(quantile(&sorted, 0.999), 999);
        assert_eq!(quantile(&[7], 0.5), 7);
        assert_eq!(quantile(&[], 0.5), 0);
    }

    #[test]
    fn the_interval_leaves_out_as_many_values_as_the_tables_of_the_sign_test_say() {
        // Pairs of n and the rank of the lower end, counted from 1, from the usual table for 95%.
        for (count, rank) in [(6, 1), (8, 1), (9, 2), (11, 2), (12, 3), (15, 4), (20, 6), (25, 8)] {
            assert_eq!(values_outside(count), Some(rank - 1), "{count} values");
        }
    }

    #[test]
    fn one_wild_value_does_not_stretch_the_interval() {
        let values = [5.0, 1e9, 3.0, 1.0, 2.0, 4.0, 6.0, 7.0, 8.0];
        assert_eq!(Interval::of(&values), Some(Interval { low: 2.0, median: 5.0, high: 8.0 }));
    }

    #[test]
    fn too_few_values_have_no_interval() {
        assert_eq!(Interval::of(&[1.0; 5]), None);
        assert!(Interval::of(&[1.0; 6]).is_some());
    }
}
