//! Tests of histograms through the crate's public interface.

use proptest::prelude::*;
use weir_stats::{Histogram, HistogramPair, MICROS_MAX, Resolution, SharedHistogram, Side};

fn resolution() -> impl Strategy<Value = Resolution> {
    prop::sample::select(&[Resolution::Coarse, Resolution::Fine, Resolution::Precise][..])
}

/// Generates times from a microsecond to an hour, uniform over the orders of magnitude.
fn micros() -> impl Strategy<Value = u64> {
    (0_u32..32, any::<u64>()).prop_map(|(bits, random)| random % (1 << bits) + 1)
}

fn filled(resolution: Resolution, values: &[u64]) -> Histogram {
    let mut histogram = Histogram::new(resolution);
    values.iter().for_each(|value| histogram.record(*value));
    histogram
}

fn promised_error(resolution: Resolution) -> f64 {
    match resolution {
        Resolution::Coarse => 0.125,
        Resolution::Fine => 0.0625,
        Resolution::Precise => 1.0 / 256.0,
    }
}

#[test]
fn nothing_recorded_has_neither_mean_nor_quantiles() {
    let empty = Histogram::default();
    assert_eq!((empty.count(), empty.sum(), empty.max()), (0, 0, 0));
    assert_eq!(empty.mean(), None);
    assert_eq!(empty.quantile(0.5), None);
    assert_eq!(empty.buckets().next(), None);
}

#[test]
fn the_extremes_are_the_first_and_the_last_value() {
    let histogram = filled(Resolution::Fine, &[3, 1_000, 5_000_000]);
    assert_eq!(histogram.quantile(0.0), Some(3));
    assert_eq!(histogram.quantile(1.0), Some(5_000_000), "never above the greatest value");
    assert_eq!(histogram.quantile(7.0), Some(5_000_000));
    assert_eq!(histogram.quantile(f64::NAN), Some(3));
}

#[test]
fn what_takes_longer_than_the_longest_is_kept_as_the_longest() {
    let histogram = filled(Resolution::Fine, &[u64::MAX]);
    assert_eq!((histogram.max(), histogram.sum()), (MICROS_MAX, MICROS_MAX));
}

#[test]
fn a_bound_inside_a_bucket_takes_its_share() {
    let mut histogram = Histogram::new(Resolution::Fine);
    // 1024 to 1151 us is one bucket.
    histogram.record_many(1_100, 128);
    histogram.record_many(10, 5);
    let counts: Vec<u64> = histogram.counts_up_to(&[9, 10, 1_023, 1_024, 1_087, 1_151, u64::MAX]).collect();
    assert_eq!(counts, [0, 5, 5, 6, 69, 133, 133]);
}

#[test]
fn forgetting_leaves_nothing_behind() {
    let mut histogram = filled(Resolution::Coarse, &[5, 50, 500]);
    histogram.clear();
    assert_eq!(histogram, Histogram::new(Resolution::Coarse));
}

proptest! {
    #[test]
    fn a_quantile_is_within_the_promised_error_of_the_true_one(
        resolution in resolution(), mut values in prop::collection::vec(micros(), 1..300), quantile in 0.0_f64..=1.0,
    ) {
        let histogram = filled(resolution, &values);
        values.sort_unstable();
        let rank = (quantile * values.len() as f64).ceil().max(1.0) as usize;
        let truth = values[rank - 1] as f64;
        let said = histogram.quantile(quantile).unwrap_or_default() as f64;
        prop_assert!((said - truth).abs() <= promised_error(resolution) * truth, "{said} for {truth}");
    }

    #[test]
    fn count_sum_mean_and_maximum_are_exact(values in prop::collection::vec(micros(), 1..100)) {
        let histogram = filled(Resolution::Coarse, &values);
        let sum: u64 = values.iter().sum();
        prop_assert_eq!(histogram.count(), values.len() as u64);
        prop_assert_eq!(histogram.sum(), sum);
        prop_assert_eq!(histogram.mean(), Some(sum as f64 / values.len() as f64));
        prop_assert_eq!(Some(histogram.max()), values.iter().max().copied());
    }

    #[test]
    fn merging_is_the_same_as_recording_all_in_one(
        a in prop::collection::vec(micros(), 0..50), b in prop::collection::vec(micros(), 0..50),
        of_a in resolution(), of_b in resolution(),
    ) {
        let mut merged = filled(of_a, &a);
        merged.merge(&filled(of_b, &b));
        prop_assert_eq!(merged, filled(of_a.min(of_b), &[a, b].concat()));
    }

    #[test]
    fn one_writer_s_histogram_reads_like_a_plain_one(
        values in prop::collection::vec(any::<u64>(), 0..100),
    ) {
        let shared = SharedHistogram::default();
        values.iter().for_each(|value| shared.record(*value));
        prop_assert_eq!(shared.snapshot(), filled(Resolution::Fine, &values));
        let mut twice = shared.snapshot();
        shared.add_to(&mut twice);
        prop_assert_eq!(twice.count(), 2 * values.len() as u64);
    }

    #[test]
    fn a_pair_reads_like_two_histograms(
        first in prop::collection::vec(any::<u64>(), 0..100), second in prop::collection::vec(micros(), 0..100),
    ) {
        let pair = HistogramPair::default();
        first.iter().for_each(|value| pair.record(Side::First, *value));
        second.iter().for_each(|value| pair.record(Side::Second, *value));
        for (side, values) in [(Side::First, &first), (Side::Second, &second)] {
            let mut total = Histogram::new(Resolution::Fine);
            pair.add_to(side, &mut total);
            prop_assert_eq!(&total, &filled(Resolution::Fine, values));
            prop_assert_eq!(pair.is_empty(side), values.is_empty());
        }
    }

    #[test]
    fn counts_up_to_rising_bounds_rise_to_the_total(
        values in prop::collection::vec(micros(), 0..200), bounds in prop::collection::btree_set(micros(), 0..20),
    ) {
        let histogram = filled(Resolution::Fine, &values);
        let bounds: Vec<u64> = bounds.into_iter().chain([u64::MAX]).collect();
        let counts: Vec<u64> = histogram.counts_up_to(&bounds).collect();
        prop_assert!(counts.is_sorted(), "{counts:?}");
        prop_assert_eq!(counts.last().copied(), Some(values.len() as u64));
        // Values in a bucket that lies wholly on one side of a bound are counted on that side.
        for (bound, count) in bounds.iter().zip(counts) {
            let certain = values.iter().filter(|value| **value as f64 * 1.125 < *bound as f64).count() as u64;
            let possible = values.iter().filter(|value| **value as f64 <= *bound as f64 * 1.125).count() as u64;
            prop_assert!((certain..=possible).contains(&count));
        }
    }
}
