use super::rng::Rng;

/// A median, and between which values it lies with a confidence of 95 percent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Where the interval begins.
    pub low: f64,
    /// The median of the values themselves.
    pub median: f64,
    /// Where it ends.
    pub high: f64,
}

/// More change the ends of an interval by less than its noise.
const RESAMPLES: usize = 2_000;

impl Estimate {
    /// By the percentile bootstrap (Efron, 1979): so often as many values are drawn, with putting back, and of the medians of
    /// these the middle 95 percent are taken. None of no values or of such that are no numbers; of one value, or two, the
    /// interval is what was seen and says too little.
    pub fn of(values: &[f64], seed: u64) -> Option<Self> {
        let own = median(values)?;
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
        Some(Self { low: at(0.025)?.min(own), median: own, high: at(0.975)?.max(own) })
    }
}

/// The value in the middle, or between the two there; none of no values, or if one of them is no number.
pub fn median(values: &[f64]) -> Option<f64> {
    if values.is_empty() || values.iter().any(|value| value.is_nan()) {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let half = sorted.len() / 2;
    Some(if sorted.len() % 2 == 1 { sorted[half] } else { f64::midpoint(sorted[half - 1], sorted[half]) })
}
