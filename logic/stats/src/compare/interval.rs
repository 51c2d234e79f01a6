//! Exact confidence intervals of a median.

/// Returns a confidence interval of the population's median from a sorted sample: lower end, upper end, and
/// confidence. It is the narrowest interval between two sample values at the same distance from both ends
/// that has at least `confidence`.
///
/// The interval is exact for any distribution, by order statistics. For example, the median is below the
/// smallest of n values only if all n values are above it, which has the probability 1 / 2^n. If no interval
/// reaches `confidence`, the result is the range of the sample. Returns `None` if there are no values.
pub(super) fn of_median(sorted: &[f64], confidence: f64) -> Option<(f64, f64, f64)> {
    let (first, last) = (*sorted.first()?, *sorted.last()?);
    let n = sorted.len();
    // Probability that exactly k of n values are below the median, starting with k = 0.
    let mut exactly = 0.5_f64.powi(i32::try_from(n).unwrap_or(i32::MAX));
    let mut outside = 2.0 * exactly;
    let mut found = (first, last, (1.0 - outside).max(0.0));
    for below in 1..n.div_ceil(2) {
        exactly *= (n - below + 1) as f64 / below as f64;
        outside += 2.0 * exactly;
        if 1.0 - outside < confidence {
            break;
        }
        found = (sorted[below], sorted[n - 1 - below], 1.0 - outside);
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn confidences_are_those_of_the_tables() {
        // Rank and confidence of the narrowest interval of at least 95% (Conover, table A3).
        for (n, rank, confidence) in
            [(6, 1, 0.969), (7, 1, 0.984), (8, 1, 0.992), (9, 2, 0.961), (12, 3, 0.961)]
        {
            let values: Vec<f64> = (1..=n).map(f64::from).collect();
            let (low, high, own) = of_median(&values, 0.95).unwrap();
            assert_eq!((low, high), (f64::from(rank), f64::from(n + 1 - rank)), "{n}");
            assert!((own - confidence).abs() < 0.0006, "{n}: {own}");
        }
    }

    #[test]
    fn few_values_have_a_range_and_less_confidence() {
        assert_eq!(of_median(&[], 0.95), None);
        assert_eq!(of_median(&[3.0], 0.95), Some((3.0, 3.0, 0.0)));
        assert_eq!(of_median(&[1.0, 2.0, 9.0], 0.95), Some((1.0, 9.0, 0.75)));
        assert_eq!(of_median(&[1.0, 2.0, 3.0, 4.0, 9.0], 0.95), Some((1.0, 9.0, 0.9375)));
    }

    #[test]
    fn a_thousand_values_are_no_trouble() {
        let values: Vec<f64> = (0..1_000).map(f64::from).collect();
        let (low, high, confidence) = of_median(&values, 0.95).unwrap();
        // The median rank 500, plus or minus 1.96 standard deviations of 15.8.
        assert!((466.0..=470.0).contains(&low) && (529.0..=533.0).contains(&high), "{low} {high}");
        assert!((0.95..0.96).contains(&confidence), "{confidence}");
    }
}
