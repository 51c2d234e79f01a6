/// Of a sorted sample, the narrowest pair of its own values, as far from one end as from the other, between which the median of what
/// it was drawn from lies with at least `confidence`; and with what confidence it does.
///
/// Exact, whatever the distribution: the median lies below the smallest of n values only if all n are above it, which chance makes
/// in 1 of 2^n cases, and so on (order statistics). The least and the greatest value if no pair is so certain; `None` of no values.
pub(super) fn of_median(sorted: &[f64], confidence: f64) -> Option<(f64, f64, f64)> {
    let (first, last) = (*sorted.first()?, *sorted.last()?);
    let n = sorted.len();
    // How likely exactly k of n values are below the median, from k = 0 on.
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
        // Ranks and confidence of the narrowest interval of at least 95% (Conover, table A3).
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
        // 500 and 1.96 deviations of 15.8.
        assert!((466.0..=470.0).contains(&low) && (529.0..=533.0).contains(&high), "{low} {high}");
        assert!((0.95..0.96).contains(&confidence), "{confidence}");
    }
}
