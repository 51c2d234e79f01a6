//! Correction of p-values for multiple comparisons.

/// Adjusts p-values for multiple comparisons (Holm, 1979). If all adjusted values are compared with a level,
/// the probability of rejecting any true null hypothesis is at most that level.
///
/// The smallest p-value is multiplied by the number of p-values, the next by one less, and so on. No adjusted
/// value is below the previous one or above 1.
pub fn holm(probabilities: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..probabilities.len()).collect();
    order.sort_by(|a, b| probabilities[*a].total_cmp(&probabilities[*b]));
    let mut adjusted = vec![1.0; probabilities.len()];
    let mut least = 0.0_f64;
    for (rank, at) in order.into_iter().enumerate() {
        let factor = (probabilities.len() - rank) as f64;
        least = least.max((probabilities[at] * factor).min(1.0));
        adjusted[at] = least;
    }
    adjusted
}
