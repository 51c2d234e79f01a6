use super::bootstrap::{CONFIDENCE, Estimate, median};

/// Of more differences the averages of two become too many.
const AVERAGED_MAX: usize = 500;
/// With more the normal distribution is near enough.
const EXACT_MAX: usize = 60;

impl Estimate {
    /// Of differences between pairs, such as logarithms of ratios: their centre is the median of the averages of every two of them, each
    /// with itself included (Hodges and Lehmann, 1963), and the interval is that of Wilcoxon's signed-rank test (Tukey, 1949), exact up to 60
    /// differences, whatever their distribution, if it is symmetric: as differences of two with the same noise are. It is much
    /// narrower than that of their median, as narrow as Student's where noise is normal, and bears far-off values as a median does.
    /// Of over 500 differences the median and its interval by bootstrap. None of none, or of such that are no numbers.
    pub(super) fn of_differences(differences: &[f64], seed: u64) -> Option<Self> {
        let count = differences.len();
        if count > AVERAGED_MAX || count == 0 {
            return Self::of(differences, seed);
        }
        let mut averages = Vec::with_capacity(count * (count + 1) / 2);
        for (at, one) in differences.iter().enumerate() {
            averages.extend(differences[at..].iter().map(|other| f64::midpoint(*one, *other)));
        }
        averages.sort_by(f64::total_cmp);
        let (rank, confidence) = rank(count);
        Some(Self {
            low: averages[rank],
            median: median(&averages)?,
            high: averages[averages.len() - 1 - rank],
            confidence,
        })
    }
}

/// How many averages lie outside of the narrowest interval of at least 95 percent, at each end, and how sure it is. None do if no
/// interval is so sure.
fn rank(count: usize) -> (usize, f64) {
    if count > EXACT_MAX {
        let n = count as f64;
        let (mean, variance) = (n * (n + 1.0) / 4.0, n * (n + 1.0) * (2.0 * n + 1.0) / 24.0);
        // Half of a rank of continuity.
        return ((mean - 1.959_964 * variance.sqrt() - 0.5).floor().max(0.0) as usize, CONFIDENCE);
    }
    // How likely each sum of ranks is, if each rank counts or not by a coin.
    let mut shares = vec![0.0; count * (count + 1) / 2 + 1];
    shares[0] = 1.0;
    for rank in 1..=count {
        for sum in (0..shares.len()).rev() {
            let with = if sum >= rank { shares[sum - rank] } else { 0.0 };
            shares[sum] = f64::midpoint(shares[sum], with);
        }
    }
    let mut tail = shares[0];
    let mut found = (0, (1.0 - 2.0 * tail).max(0.0));
    for (sum, share) in shares.iter().enumerate().skip(1) {
        tail += share;
        if 1.0 - 2.0 * tail < CONFIDENCE {
            break;
        }
        found = (sum, 1.0 - 2.0 * tail);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_and_confidences_are_those_of_the_tables() {
        // Critical values of the signed-rank test at 5 percent (Wilcoxon, 1945), and what is left outside of them.
        for (count, outside, confidence) in
            [(5, 0, 0.9375), (6, 0, 0.969), (7, 2, 0.953), (8, 3, 0.961), (16, 29, 0.956), (24, 81, 0.951)]
        {
            let (rank, own) = rank(count);
            assert_eq!(rank, outside, "{count}");
            assert!((own - confidence).abs() < 0.0006, "{count}: {own}");
        }
        assert_eq!(rank(1), (0, 0.0));
    }

    #[test]
    fn exact_and_normal_agree_where_one_follows_the_other() {
        let (exact, near) = (rank(60).0 as f64, rank(61).0 as f64);
        assert!((near - exact - 24.0).abs() < 6.0, "{exact} {near}");
    }

    #[test]
    fn a_worked_example_has_its_centre_and_ends() {
        // Averages of every two of 1, 2, 4, 8, 16, 32: from 1 to 32, the 11th of 21 is 8.5.
        let of = Estimate::of_differences(&[1.0, 2.0, 4.0, 8.0, 16.0, 32.0], 1).unwrap();
        assert_eq!((of.low, of.high), (1.0, 32.0));
        assert_eq!(of.median, 8.5);
        assert!(!of.is_range());
        assert_eq!(Estimate::of_differences(&[], 1), None);
        assert_eq!(Estimate::of_differences(&[1.0, f64::NAN], 1), None);
    }
}
