//! The Mann-Whitney test.

use super::evidence::Evidence;

/// Maximum number of values for the exact test; beyond it, the normal approximation is accurate enough.
const EXACT_MAX: usize = 60;

/// Returns the probability that two samples of the same distribution differ in rank by as much as these, in
/// either direction (Mann and Whitney, 1947; Wilcoxon's rank sum). It is exact, including ties, up to 60
/// values in total. Beyond, it is the normal approximation with the correction for ties. It is 1 if one
/// sample is empty.
pub fn mann_whitney(a: &[f64], b: &[f64]) -> Evidence {
    let (n, total) = (a.len(), a.len() + b.len());
    if a.is_empty() || b.is_empty() {
        return Evidence::NONE;
    }
    let doubled = doubled_ranks(a, b);
    let sum: usize = doubled[..n].iter().sum();
    // Expected sum of the doubled ranks: n (N + 1).
    let expected = n * (total + 1);
    let distance = sum.abs_diff(expected);
    let probability = if total > EXACT_MAX {
        by_normal(distance as f64 / 2.0, n as f64, b.len() as f64, &doubled)
    } else {
        let counts = sums_of(&doubled, n);
        let all: f64 = counts.iter().sum();
        let as_far = counts.iter().enumerate().filter(|(sum, _)| sum.abs_diff(expected) >= distance);
        (as_far.map(|(_, count)| count).sum::<f64>() / all).min(1.0)
    };
    Evidence { probability, direction: sum.cmp(&expected) }
}

/// Returns the smallest p-value that [`mann_whitney`] can return for samples of these sizes. It occurs if all
/// values of one sample are below all values of the other.
pub fn least_ranked(n: usize, m: usize) -> f64 {
    // Only one division of n + m values into n and m lies at each end.
    let divisions = (1..=n).fold(1.0, |product, at| product * (m + at) as f64 / at as f64);
    (2.0 / divisions).min(1.0)
}

/// Returns the rank of each value of both samples, doubled so that the ranks of ties are integers.
fn doubled_ranks(a: &[f64], b: &[f64]) -> Vec<usize> {
    let values: Vec<f64> = a.iter().chain(b).copied().collect();
    let mut sorted = values.clone();
    sorted.sort_by(f64::total_cmp);
    let rank = |value: &f64| {
        let before = sorted.partition_point(|other| other.total_cmp(value).is_lt());
        let up_to = sorted.partition_point(|other| other.total_cmp(value).is_le());
        before + up_to + 1
    };
    values.iter().map(rank).collect()
}

/// Returns, for each sum, the number of ways to choose `take` ranks with that sum.
fn sums_of(ranks: &[usize], take: usize) -> Vec<f64> {
    let most: usize = ranks.iter().sum();
    let mut ways = vec![vec![0.0; most + 1]; take + 1];
    ways[0][0] = 1.0;
    for (seen, rank) in ranks.iter().enumerate() {
        for taken in (1..=take.min(seen + 1)).rev() {
            let (fewer, more) = ways.split_at_mut(taken);
            for (with, without) in more[0][*rank..].iter_mut().zip(&fewer[taken - 1]) {
                *with += without;
            }
        }
    }
    ways.swap_remove(take)
}

fn by_normal(distance: f64, n: f64, m: f64, doubled: &[usize]) -> f64 {
    let mut sorted = doubled.to_vec();
    sorted.sort_unstable();
    let ties: f64 =
        sorted.chunk_by(|a, b| a == b).map(|tied| (tied.len() as f64).powi(3) - tied.len() as f64).sum();
    let total = n + m;
    let variance = n * m / 12.0 * (total + 1.0 - ties / (total * (total - 1.0)));
    if variance <= 0.0 {
        return 1.0;
    }
    // Continuity correction of half a rank.
    let z = (distance - 0.5).max(0.0) / variance.sqrt();
    2.0 * upper_tail(z)
}

/// Returns the probability that a normal variable exceeds `z`, which is at least 0, to 7 digits (Abramowitz
/// and Stegun, 26.2.17).
fn upper_tail(z: f64) -> f64 {
    const B: [f64; 5] = [0.319_381_530, -0.356_563_782, 1.781_477_937, -1.821_255_978, 1.330_274_429];
    let t = 1.0 / (1.0 + 0.231_641_9 * z);
    let polynomial = B.iter().rev().fold(0.0, |sum, b| (sum + b) * t);
    (-z * z / 2.0).exp() / std::f64::consts::TAU.sqrt() * polynomial
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_normal_tail_is_that_of_the_tables() {
        for (z, p) in [(0.0, 0.5), (1.0, 0.158_655), (1.959_964, 0.025), (3.0, 0.001_349_9)] {
            assert!((upper_tail(z) - p).abs() < 1e-6, "{z}: {}", upper_tail(z));
        }
    }

    #[test]
    fn exact_and_normal_agree_where_both_can_be_had() {
        let a: Vec<f64> = (0..28).map(f64::from).collect();
        let b: Vec<f64> = (0..28).map(|value| f64::from(value) + 8.5).collect();
        let exact = mann_whitney(&a, &b).probability;
        let doubled = doubled_ranks(&a, &b);
        let distance = doubled[..28].iter().sum::<usize>().abs_diff(28 * 57);
        let near = by_normal(distance as f64 / 2.0, 28.0, 28.0, &doubled);
        assert!((exact - near).abs() < 1e-3, "{exact} {near}");
    }
}
