use std::cmp::Ordering;

use super::bootstrap::Estimate;
use super::evidence::Evidence;
use super::signs::sign_flip;

/// How one differs from another that took turns with it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// Its value / the other's, of the pairs: 0.8 = it takes a fifth less.
    pub ratio: Estimate,
    /// How likely chance alone makes such a difference, and in which direction.
    pub evidence: Evidence,
    /// Of so many pairs.
    pub pairs: usize,
}

/// Compares `a` with `b`, pair by pair: what both met in one turn, such as a machine that was slower that minute, drops out. Pairs of
/// which a value is not above 0 are left out. None if nothing is left.
///
/// The ratio is that of the typical pair, with its interval: the median of the averages of every two logarithms of ratios (Hodges and
/// Lehmann). The evidence comes from the mean of the logarithms ([`sign_flip`]). So who is divided by whom changes nothing. One
/// pair that is far off may turn the mean and leaves that median: see [`Difference::direction`].
pub fn compare_paired(a: &[f64], b: &[f64], seed: u64) -> Option<Difference> {
    let is_known = |(a, b): &(&f64, &f64)| **a > 0.0 && **b > 0.0 && a.is_finite() && b.is_finite();
    let logs: Vec<f64> = a.iter().zip(b).filter(is_known).map(|(a, b)| (a / b).ln()).collect();
    let of = Estimate::of_differences(&logs, seed)?;
    let ratio = Estimate { low: of.low.exp(), median: of.median.exp(), high: of.high.exp(), ..of };
    Some(Difference { ratio, evidence: sign_flip(&logs, seed), pairs: logs.len() })
}

impl Difference {
    /// In which direction it goes, if the typical pair, its whole interval and the test say the same; else [`Ordering::Equal`].
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
