/// What is left of each probability when all of these were looked at together (Holm, 1979): compared with a level as before,
/// no true null hypothesis among them is rejected with more than that probability.
///
/// The smallest is multiplied by how many there are, the next by one less, and so on; none becomes less than one before it,
/// or more than 1.
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
