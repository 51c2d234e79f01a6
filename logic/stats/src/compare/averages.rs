//! Estimates for differences between pairs.

use super::bootstrap::{CONFIDENCE, Estimate, median};

/// Maximum number of differences for which all pairwise averages are computed.
const AVERAGED_MAX: usize = 500;
/// Maximum number of differences for exact ranks; beyond it, the normal approximation is accurate enough.
const EXACT_MAX: usize = 60;

impl Estimate {
    /// Estimates the centre of differences between pairs, such as logarithms of ratios. The estimate is the
    /// median of all pairwise averages, each value with itself included (Hodges and Lehmann, 1963). The
    /// interval is that of Wilcoxon's signed-rank test (Tukey, 1949).
    ///
    /// The interval is exact up to 60 differences for any symmetric distribution. Differences of two subjects
    /// with the same noise are symmetric. It is much narrower than the interval of the median, and about as
    /// narrow as Student's for normal noise. It tolerates outliers as a median does.
    ///
    /// For over 500 differences, the result is the median with its bootstrap interval. Returns `None` if
    /// there are no differences, or if one is NaN.
    pub(super) fn of_differences(differences: &[f64], seed: u64) -> Option<Self> {
        let count = differences.len();
        if count > AVERAGED_MAX || count == 0 {
            return Self::of(differences, seed);
        }
        let mut averages = Vec::with_capacity(count * (count + 1) / 2);
        for (at, one) in differences.iter().enumerate() {
            averages.extend(differences[at..].iter().map(|other| f64::midpoint(*one, *other)));
        }
        averages.sort_by(f64::total_cmp);
        let (rank, confidence) = rank(count);
        Some(Self {
            low: averages[rank],
            median: median(&averages)?,
            high: averages[averages.len() - 1 - rank],
            confidence,
        })
    }
}

/// Returns the number of averages below the narrowest interval of at least 95 percent, which equals the
/// number above it, and the interval's confidence. The number is 0 if no interval reaches 95 percent.
fn rank(count: usize) -> (usize, f64) {
    if count > EXACT_MAX {
        let n = count as f64;
        let (mean, variance) = (n * (n + 1.0) / 4.0, n * (n + 1.0) * (2.0 * n + 1.0) / 24.0);
        // Continuity correction of half a rank.
        return ((mean - 1.959_964 * variance.sqrt() - 0.5).floor().max(0.0) as usize, CONFIDENCE);
    }
    // Probability of each sum of ranks, if each rank counts with probability one half.
    let mut shares = vec![0.0; count * (count + 1) / 2 + 1];
    shares[0] = 1.0;
    for rank in 1..=count {
        for sum in (0..shares.len()).rev() {
            let with = if sum >= rank { shares[sum - rank] } else { 0.0 };
            shares[sum] = f64::midpoint(shares[sum], with);
        }
    }
    let mut tail = shares[0];
    let mut found = (0, (1.0 - 2.0 * tail).max(0.0));
    for (sum, share) in shares.iter().enumerate().skip(1) {
        tail += share;
        if 1.0 - 2.0 * tail < CONFIDENCE {
            break;
        }
        found = (sum, 1.0 - 2.0 * tail);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_and_confidences_are_those_of_the_tables() {
        // Critical values of the signed-rank test at 5 percent (Wilcoxon, 1945), and the confidence of the
        // interval.
        for (count, outside, confidence) in
            [(5, 0, 0.9375), (6, 0, 0.969), (7, 2, 0.953), (8, 3, 0.961), (16, 29, 0.956), (24, 81, 0.951)]
        {
            let (rank, own) = rank(count);
            assert_eq!(rank, outside, "{count}");
            assert!((own - confidence).abs() < 0.0006, "{count}: {own}");
        }
        assert_eq!(rank(1), (0, 0.0));
    }

    #[test]
    fn exact_and_normal_agree_where_one_follows_the_other() {
        let (exact, near) = (rank(60).0 as f64, rank(61).0 as f64);
        assert!((near - exact - 24.0).abs() < 6.0, "{exact} {near}");
    }

    #[test]
    fn a_worked_example_has_its_centre_and_ends() {
        // Pairwise averages of 1, 2, 4, 8, 16, 32: from 1 to 32, and the 11th of 21 is 8.5.
        let of = Estimate::of_differences(&[1.0, 2.0, 4.0, 8.0, 16.0, 32.0], 1).unwrap();
        assert_eq!((of.low, of.high), (1.0, 32.0));
        assert_eq!(of.median, 8.5);
        assert!(!of.is_range());
        assert_eq!(Estimate::of_differences(&[], 1), None);
        assert_eq!(Estimate::of_differences(&[1.0, f64::NAN], 1), None);
    }
}
