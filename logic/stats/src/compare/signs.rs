use super::evidence::Evidence;
use super::rng::Rng;

/// Up to so many pairs every combination of signs is looked at.
const EXACT_MAX: usize = 16;
const DRAWS: usize = 20_000;

/// How likely the mean of differences between pairs is as far from 0 as here, in either direction, if within each pair it is
/// chance who is who (Fisher's permutation test for pairs, 1935): every difference may then as well have the other sign. Exact up
/// to 16 pairs, else by 20,000 draws from `seed`. 1 of no pairs.
pub fn sign_flip(differences: &[f64], seed: u64) -> Evidence {
    if differences.is_empty() || differences.iter().any(|difference| !difference.is_finite()) {
        return Evidence::NONE;
    }
    let sum: f64 = differences.iter().sum();
    Evidence { probability: probability(differences, sum.abs(), seed), direction: sum.total_cmp(&0.0) }
}

/// The least probability that [`sign_flip`] can give so many pairs: that of all differences having one sign.
pub fn least_paired(pairs: usize) -> f64 {
    match i32::try_from(pairs) {
        Ok(pairs) if pairs as usize <= EXACT_MAX => 0.5_f64.powi(pairs - 1).min(1.0),
        _ => 1.0 / (DRAWS + 1) as f64,
    }
}

fn probability(differences: &[f64], own: f64, seed: u64) -> f64 {
    // Sums of the same numbers in another order may differ in their last digits.
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
    // The values themselves are one of the combinations.
    (as_far + 1) as f64 / (DRAWS + 1) as f64
}

/// Those whose bit is set with the other sign.
fn flipped(differences: &[f64], signs: u64) -> f64 {
    let signed =
        |(at, difference): (usize, &f64)| if signs >> at & 1 == 1 { -difference } else { *difference };
    differences.iter().enumerate().map(signed).sum()
}
