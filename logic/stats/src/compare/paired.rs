use super::bootstrap::Estimate;
use super::signs::sign_flip;

/// How one differs from another that took turns with it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// Its value / the other's, of the pairs: 0.8 = it takes a fifth less.
    pub ratio: Estimate,
    /// How likely chance alone makes such a difference.
    pub probability: f64,
    /// Of so many pairs.
    pub pairs: usize,
}

/// Compares `a` with `b`, pair by pair: what both met in one turn, such as a machine that was slower that minute, drops out. Pairs of
/// which a value is not above 0 are left out. None if nothing is left.
///
/// The ratio is that of the median pair, with its bootstrap interval; the probability comes from the mean of the logarithms
/// ([`sign_flip`]), so that who is divided by whom changes nothing.
pub fn compare_paired(a: &[f64], b: &[f64], seed: u64) -> Option<Difference> {
    let is_known = |(a, b): &(&f64, &f64)| **a > 0.0 && **b > 0.0 && a.is_finite() && b.is_finite();
    let logs: Vec<f64> = a.iter().zip(b).filter(is_known).map(|(a, b)| (a / b).ln()).collect();
    let of = Estimate::of(&logs, seed)?;
    let ratio = Estimate { low: of.low.exp(), median: of.median.exp(), high: of.high.exp() };
    Some(Difference { ratio, probability: sign_flip(&logs, seed), pairs: logs.len() })
}
