//! Tests of the agreement between a benchmark run and its repetition, on simulated short runs with a known
//! ratio.

use super::*;

/// As in the quick benchmark forms that come with Weir: three cases, eight times each.
const PAIRS: usize = 24;
const MARGIN: f64 = 0.1;
/// Standard deviation of the logarithm of a run's result: 5 percent, as measured on a virtual machine with
/// two cores.
const NOISE: f64 = 0.05;

fn normal(rng: &mut Rng) -> f64 {
    // The sum of twelve uniform numbers is close enough to a normal distribution.
    (0..12).map(|_| (rng.next() >> 11) as f64 / (1_u64 << 53) as f64).sum::<f64>() - 6.0
}

/// Simulates one of three comparisons of a benchmark run. `ratio` is the first value divided by the second.
/// Some turns are slow for both subjects.
fn play(rng: &mut Rng, ratio: f64, seed: u64) -> Outcome {
    let (mut ones, mut others) = (Vec::new(), Vec::new());
    for _ in 0..PAIRS {
        let slowness = (normal(rng) * 0.2).exp();
        ones.push(ratio * slowness * (normal(rng) * NOISE).exp());
        others.push(slowness * (normal(rng) * NOISE).exp());
    }
    let difference = compare_paired(&ones, &others, seed).unwrap();
    // The strictest correction that the two other comparisons of three balancers can cause.
    let adjusted = holm(&[difference.evidence.probability, 1.0, 1.0])[0];
    difference.outcome(adjusted, MARGIN)
}

/// Counts the pairs of a run and its repetition that differ, and those that contradict each other.
fn differ(ratio: f64, plays: u64) -> (u64, u64) {
    let mut rng = Rng::new((ratio * 1_000.0) as u64);
    let (mut other, mut opposite) = (0, 0);
    for seed in 0..plays {
        let (one, again) = (play(&mut rng, ratio, seed), play(&mut rng, ratio, seed + plays));
        other += u64::from(one != again);
        opposite += u64::from(one != again && one != Outcome::Undecided && again != Outcome::Undecided);
    }
    (other, opposite)
}

#[test]
fn a_play_and_its_repeat_say_the_same_of_those_who_are_alike_or_far_apart() {
    const PLAYS: u64 = 250;
    // Limits in percent: 0, 0.2, 9 and 0 by a longer simulation, plus three standard deviations for this
    // number of runs.
    for (ratio, other_max) in [(1.0, 1), (1.02, 2), (1.1, 15), (1.3, 1)] {
        let (other, opposite) = differ(ratio, PLAYS);
        assert!(other * 100 <= other_max * PLAYS, "{ratio}: {other} of {PLAYS} say something else");
        assert!(opposite * 100 <= PLAYS, "{ratio}: {opposite} of {PLAYS} say the opposite");
    }
}

#[test]
fn nowhere_do_a_play_and_its_repeat_say_the_opposite() {
    // These ratios include some whose interval barely fits within or beyond the margin, so that one of two
    // runs may be undecided.
    for ratio in [1.05, 1.07, 1.12, 1.15, 0.93, 0.87] {
        let (_, opposite) = differ(ratio, 100);
        assert!(opposite <= 1, "{ratio}: {opposite} of 100");
    }
}

#[test]
fn of_twenty_comparisons_of_the_same_with_itself_at_most_two_differ_with_a_margin() {
    let mut rng = Rng::new(5);
    for family in 0..20 {
        let pairs: Vec<_> = (0..20).map(|_| same(&mut rng, 8)).collect();
        let differences: Vec<_> = pairs.iter().map(|(a, b)| compare_paired(a, b, family).unwrap()).collect();
        let adjusted = holm(&differences.iter().map(|one| one.evidence.probability).collect::<Vec<_>>());
        let outcomes = differences.iter().zip(adjusted).map(|(one, adjusted)| one.outcome(adjusted, 0.05));
        let differ = outcomes.filter(|outcome| matches!(outcome, Outcome::Less | Outcome::More)).count();
        assert!(differ <= 2, "family {family}: {differ}");
    }
}

#[test]
fn an_outcome_is_where_the_interval_lies_beside_the_margin() {
    let difference = |ratio: f64, spread: f64, pairs: usize| {
        let ones: Vec<f64> =
            (0..pairs).map(|at| ratio * (1.0 + spread * (at as f64 / pairs as f64 - 0.5))).collect();
        compare_paired(&ones, &vec![1.0; pairs], 1).unwrap()
    };
    let outcome = |ratio, spread, margin| difference(ratio, spread, 12).outcome(0.001, margin);
    assert_eq!(outcome(0.8, 0.02, 0.05), Outcome::Less);
    assert_eq!(outcome(1.25, 0.02, 0.05), Outcome::More);
    // Significant, but too small to be relevant.
    assert_eq!(outcome(1.02, 0.01, 0.05), Outcome::Equivalent);
    assert_eq!(outcome(1.02, 0.01, 0.0), Outcome::More);
    // Significant, but perhaps too small to be relevant.
    assert_eq!(outcome(1.06, 0.06, 0.05), Outcome::Undecided);
    // The margin is the same for a ratio and its inverse.
    assert_eq!(outcome(1.0 / 1.049, 0.0, 0.05), Outcome::Equivalent);
    assert_eq!(outcome(1.0 / 1.051, 0.0, 0.05), Outcome::Less);
    // A large difference, but not significant.
    assert_eq!(difference(0.5, 0.1, 12).outcome(0.06, 0.05), Outcome::Undecided);
    // The range of five values is not an interval that can show equivalence.
    assert_eq!(difference(1.0, 0.01, 5).outcome(1.0, 0.05), Outcome::Undecided);
    assert_eq!(difference(1.0, 0.01, 6).outcome(1.0, 0.05), Outcome::Equivalent);
}
