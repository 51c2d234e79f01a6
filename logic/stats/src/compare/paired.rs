//! Comparison of two subjects that were measured in turns.

use std::cmp::Ordering;

use super::bootstrap::Estimate;
use super::evidence::Evidence;
use super::signs::sign_flip;

/// The difference between two subjects that were measured in turns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// Ratio of the first value to the second, over all pairs: 0.8 = the first is 20 percent smaller.
    pub ratio: Estimate,
    /// Result of the significance test.
    pub evidence: Evidence,
    /// Number of pairs.
    pub pairs: usize,
}

/// Compares `a` with `b`, pair by pair. Influences on both values of a pair, such as a slow minute of the
/// machine, cancel out. Ignores pairs with a value that is not above 0. Returns `None` if no pair is left.
///
/// The ratio is that of the typical pair, with its interval: the median of all pairwise averages of the
/// logarithms of the ratios (Hodges and Lehmann). The evidence comes from the mean of the logarithms
/// ([`sign_flip`]). So exchanging `a` and `b` only inverts the result. A single outlier can change the sign
/// of the mean but not that of the median; see [`Difference::direction`].
pub fn compare_paired(a: &[f64], b: &[f64], seed: u64) -> Option<Difference> {
    let is_known = |(a, b): &(&f64, &f64)| **a > 0.0 && **b > 0.0 && a.is_finite() && b.is_finite();
    let logs: Vec<f64> = a.iter().zip(b).filter(is_known).map(|(a, b)| (a / b).ln()).collect();
    let of = Estimate::of_differences(&logs, seed)?;
    let ratio = Estimate { low: of.low.exp(), median: of.median.exp(), high: of.high.exp(), ..of };
    Some(Difference { ratio, evidence: sign_flip(&logs, seed), pairs: logs.len() })
}

impl Difference {
    /// Returns the direction of the difference if the typical pair, its whole interval and the test agree.
    /// Otherwise returns [`Ordering::Equal`].
    pub fn direction(&self) -> Ordering {
        let Estimate { low, median, high, .. } = self.ratio;
        let own = match (low, high) {
            (_, high) if high < 1.0 => Ordering::Less,
            (low, _) if low > 1.0 => Ordering::Greater,
            _ => Ordering::Equal,
        };
        let is_agreed = own == self.evidence.direction && median.total_cmp(&1.0) == own;
        if is_agreed { own } else { Ordering::Equal }
    }
}
