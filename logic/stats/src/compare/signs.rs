//! The sign-flip permutation test for pairs.

use super::evidence::Evidence;
use super::rng::Rng;

/// Maximum number of pairs for which all combinations of signs are computed.
const EXACT_MAX: usize = 16;
const DRAWS: usize = 20_000;

/// Returns the probability that the mean of the differences between pairs is as far from 0 as here, in either
/// direction (Fisher's permutation test for pairs, 1935). Under the null hypothesis, the two values of a pair
/// are interchangeable, so each difference could have the opposite sign. It is exact up to 16 pairs, else it
/// is estimated from 20,000 draws with `seed`. It is 1 if there are no pairs.
pub fn sign_flip(differences: &[f64], seed: u64) -> Evidence {
    if differences.is_empty() || differences.iter().any(|difference| !difference.is_finite()) {
        return Evidence::NONE;
    }
    let sum: f64 = differences.iter().sum();
    Evidence { probability: probability(differences, sum.abs(), seed), direction: sum.total_cmp(&0.0) }
}

/// Returns the smallest p-value that [`sign_flip`] can return for this number of pairs. It occurs if all
/// differences have the same sign.
pub fn least_paired(pairs: usize) -> f64 {
    match i32::try_from(pairs) {
        Ok(pairs) if pairs as usize <= EXACT_MAX => 0.5_f64.powi(pairs - 1).min(1.0),
        _ => 1.0 / (DRAWS + 1) as f64,
    }
}

fn probability(differences: &[f64], own: f64, seed: u64) -> f64 {
    // The sum of the same numbers in another order may differ in the last digits.
    let bound = own - own * 1e-12;
    if differences.len() <= EXACT_MAX {
        let all = 1_u64 << differences.len();
        let as_far = (0..all).filter(|signs| flipped(differences, *signs).abs() >= bound).count();
        return as_far as f64 / all as f64;
    }
    let mut rng = Rng::new(seed);
    let mut drawn = || {
        let pieces = differences.chunks(64);
        pieces.map(|piece| flipped(piece, rng.next())).sum::<f64>()
    };
    let as_far = (0..DRAWS).filter(|_| drawn().abs() >= bound).count();
    // The measured signs are one of the combinations.
    (as_far + 1) as f64 / (DRAWS + 1) as f64
}

/// Returns the sum of the differences, with the sign inverted for each set bit.
fn flipped(differences: &[f64], signs: u64) -> f64 {
    let signed =
        |(at, difference): (usize, &f64)| if signs >> at & 1 == 1 { -difference } else { *difference };
    differences.iter().enumerate().map(signed).sum()
}
