//! Tests of the error rates of comparisons, on simulated measurements and against tables.

mod twice;

use std::cmp::Ordering;

use proptest::prelude::*;

use super::rng::Rng;
use super::*;

/// Generates log-normal times around 10, multiplied by `factor`.
fn times(rng: &mut Rng, count: usize, factor: f64) -> Vec<f64> {
    let mut normal = || {
        // The sum of twelve uniform numbers is close enough to a normal distribution.
        (0..12).map(|_| (rng.next() >> 11) as f64 / (1_u64 << 53) as f64).sum::<f64>() - 6.0
    };
    (0..count).map(|_| 10.0 * factor * (normal() * 0.1).exp()).collect()
}

/// Generates one A/A comparison: both subjects are equal, and each block of turns has its own slowness.
fn same(rng: &mut Rng, blocks: usize) -> (Vec<f64>, Vec<f64>) {
    let slowness = times(rng, blocks, 0.1);
    let with = |rng: &mut Rng| times(rng, blocks, 1.0).iter().zip(&slowness).map(|(t, s)| t * s).collect();
    (with(rng), with(rng))
}

#[test]
fn of_twenty_comparisons_of_the_same_with_itself_at_most_two_differ() {
    let mut rng = Rng::new(1);
    for family in 0..40 {
        let pairs: Vec<_> = (0..20).map(|_| same(&mut rng, 7)).collect();
        let differ = |probabilities: Vec<f64>| {
            holm(&probabilities).into_iter().filter(|probability| *probability < SIGNIFICANT).count()
        };
        let paired =
            pairs.iter().map(|(a, b)| compare_paired(a, b, family).unwrap().evidence.probability).collect();
        let ranked = pairs.iter().map(|(a, b)| mann_whitney(a, b).probability).collect();
        assert!(differ(paired) <= 2 && differ(ranked) <= 2, "family {family}");
    }
}

#[test]
fn the_same_differs_from_itself_no_more_often_than_is_said() {
    let mut rng = Rng::new(2);
    let (mut paired, mut ranked) = (0, 0);
    const COMPARISONS: u64 = 1_000;
    for seed in 0..COMPARISONS {
        let (a, b) = same(&mut rng, 8);
        paired += u64::from(compare_paired(&a, &b, seed).unwrap().evidence.probability < SIGNIFICANT);
        ranked += u64::from(mann_whitney(&a, &b).probability < SIGNIFICANT);
    }
    // 1,000 comparisons at 5 percent: 50 expected, plus three standard deviations of 7.
    assert!(paired < 71 && ranked < 71, "{paired} and {ranked} of {COMPARISONS}");
}

#[test]
fn a_difference_that_is_there_is_found_and_its_size_is_told() {
    let mut rng = Rng::new(3);
    let (a, slow) = (times(&mut rng, 12, 1.0), times(&mut rng, 12, 1.5));
    let difference = compare_paired(&slow, &a, 1).unwrap();
    assert!(
        difference.evidence.probability < 0.001 && mann_whitney(&slow, &a).probability < 0.001,
        "{difference:?}"
    );
    assert_eq!(difference.direction(), Ordering::Greater);
    let Estimate { low, median, high, .. } = difference.ratio;
    assert!(low > 1.3 && low <= median && median <= high && high < 1.7, "{difference:?}");
}

#[test]
fn exact_probabilities_are_those_of_the_tables() {
    // All values of the first sample are below all of the second: 2 of 252 divisions are as extreme.
    let (low, high) = ([1.0, 2.0, 3.0, 4.0, 5.0], [6.0, 7.0, 8.0, 9.0, 10.0]);
    let ranked = |a: &[f64], b: &[f64]| mann_whitney(a, b).probability;
    assert!((ranked(&low, &high) - 2.0 / 252.0).abs() < 1e-12);
    assert!((ranked(&low[..3], &high[..3]) - 2.0 / 20.0).abs() < 1e-12);
    assert_eq!(ranked(&low, &low), 1.0);
    assert_eq!(ranked(&low, &[]), 1.0);
    // Five differences with the same sign: both ends of 32 combinations.
    let flipped = |differences: &[f64]| sign_flip(differences, 0).probability;
    assert_eq!(flipped(&[1.0, 2.0, 3.0, 4.0, 5.0]), 2.0 / 32.0);
    assert_eq!(flipped(&[1.0, -1.0]), 1.0);
    assert_eq!(flipped(&[]), 1.0);
}

#[test]
fn so_few_values_can_show_no_more_than_that() {
    let values = |count: u32, from: f64| (0..count).map(|at| from + f64::from(at)).collect::<Vec<_>>();
    for (n, m) in [(1, 1), (3, 4), (7, 7), (4, 9)] {
        let seen = mann_whitney(&values(n, 0.0), &values(m, 100.0)).probability;
        assert!((least_ranked(n as usize, m as usize) - seen).abs() < 1e-12, "{n} {m}");
    }
    for pairs in [1, 2, 6, 16, 30] {
        let seen = sign_flip(&values(pairs, 1.0), 7).probability;
        assert!((least_paired(pairs as usize) - seen).abs() < 1e-12, "{pairs}");
    }
    assert_eq!((least_ranked(0, 5), least_paired(0)), (1.0, 1.0));
}

#[test]
fn a_median_that_says_something_else_than_the_test_is_no_direction() {
    // Most pairs are slightly faster and two are far slower, so the mean is slower and the median is faster.
    let one = [9.9, 9.9, 9.9, 9.9, 9.9, 9.9, 90.0, 90.0];
    let torn = compare_paired(&one, &[10.0; 8], 1).unwrap();
    assert!(torn.ratio.median < 1.0 && torn.evidence.direction == Ordering::Greater, "{torn:?}");
    assert_eq!(torn.direction(), Ordering::Equal);
    // Median and test agree, but the interval includes 1.
    let wide = compare_paired(&[9.0, 9.0, 9.0, 9.0, 9.0, 10.5, 10.5, 10.5], &[10.0; 8], 1).unwrap();
    assert!(wide.ratio.high > 1.0 && wide.evidence.direction == Ordering::Less, "{wide:?}");
    assert_eq!(wide.direction(), Ordering::Equal);
    assert_eq!(compare_paired(&[9.0; 8], &[10.0; 8], 1).unwrap().direction(), Ordering::Less);
    assert_eq!(mann_whitney(&[3.0, 4.0], &[1.0, 2.0]).direction, Ordering::Greater);
}

#[test]
fn an_interval_of_a_ratio_holds_the_true_one_as_often_as_it_says_and_is_narrower_than_that_of_the_median() {
    let mut rng = Rng::new(6);
    for (pairs, samples) in [(4, 2_000), (8, 2_000), (24, 1_000), (70, 300)] {
        let (mut held, mut said, mut widths) = (0, 1.0_f64, [0.0, 0.0]);
        for seed in 0..samples {
            let (one, other) = (times(&mut rng, pairs, 1.2), times(&mut rng, pairs, 1.0));
            let ratio = compare_paired(&one, &other, seed).unwrap().ratio;
            held += u32::from(ratio.low <= 1.2 && ratio.high >= 1.2);
            said = said.min(ratio.confidence);
            let logs: Vec<f64> = one.iter().zip(&other).map(|(one, other)| (one / other).ln()).collect();
            let of_median = Estimate::of(&logs, seed).unwrap();
            widths[0] += (ratio.high / ratio.low).ln();
            widths[1] += of_median.high - of_median.low;
        }
        let share = f64::from(held) / samples as f64;
        let chance = 3.0 * (said * (1.0 - said) / samples as f64).sqrt();
        assert!(share > said - chance, "{pairs}: {share}, not {said}");
        assert!(pairs < 8 || widths[0] < widths[1] * 0.95, "{pairs}: {widths:?}");
    }
}

#[test]
fn an_interval_holds_the_true_median_as_often_as_it_says() {
    let mut rng = Rng::new(4);
    for (count, samples) in [(3, 2_000), (5, 2_000), (7, 2_000), (12, 2_000), (60, 200)] {
        let (mut held, mut said) = (0, 1.0_f64);
        for seed in 0..samples {
            let of = Estimate::of(&times(&mut rng, count, 1.0), seed).unwrap();
            held += u32::from(of.low <= 10.0 && of.high >= 10.0);
            said = said.min(of.confidence);
        }
        let share = f64::from(held) / samples as f64;
        // Three standard deviations of chance.
        let chance = 3.0 * (said * (1.0 - said) / samples as f64).sqrt();
        assert!(share > said - chance, "{count}: {share}, not {said}");
        assert_eq!(said < 0.95, count < 6, "{count}");
    }
}

proptest! {
    #[test]
    fn an_interval_holds_its_median_and_nothing_beyond_what_was_seen(
        values in prop::collection::vec(-1e9..1e9_f64, 1..40), seed: u64
    ) {
        let Estimate { low, median, high, .. } = Estimate::of(&values, seed).unwrap();
        prop_assert!(low <= median && median <= high);
        prop_assert!(values.iter().any(|value| *value <= low) && values.iter().any(|value| *value >= high));
    }

    #[test]
    fn probabilities_are_such_whoever_is_named_first(
        a in prop::collection::vec(0..50_u32, 0..40), b in prop::collection::vec(0..50_u32, 0..40)
    ) {
        let numbers = |values: &[u32]| values.iter().map(|value| f64::from(*value)).collect::<Vec<_>>();
        let (a, b) = (numbers(&a), numbers(&b));
        let (one, other) = (mann_whitney(&a, &b), mann_whitney(&b, &a));
        prop_assert!((0.0..=1.0).contains(&one.probability), "{:?}", one);
        prop_assert!((one.probability - other.probability).abs() < 1e-9, "{:?} {:?}", one, other);
        prop_assert_eq!(one.direction, other.direction.reverse());
        let flipped = sign_flip(&a, 5);
        prop_assert!((0.0..=1.0).contains(&flipped.probability));
    }

    #[test]
    fn holm_keeps_the_order_and_makes_nothing_surer(values in prop::collection::vec(0.0..=1.0_f64, 0..30)) {
        let adjusted = holm(&values);
        for (one, own) in adjusted.iter().zip(&values) {
            prop_assert!(one >= own && *one <= 1.0);
            for (other, its) in adjusted.iter().zip(&values) {
                prop_assert!(own > its || one <= other);
            }
        }
    }
}
