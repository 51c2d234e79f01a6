//! A histogram of times in nanoseconds.

/// A histogram of times in nanoseconds, from one nanosecond to centuries.
///
/// The buckets are log-linear: each time below 256 ns has a bucket of its own, and each further power of two
/// is divided into 128 equal buckets. The relative error is at most 0.4 percent. The histogram always
/// occupies 58 KiB.
#[derive(Debug, Clone, PartialEq)]
pub struct NanosHistogram {
    counts: Box<[u64]>,
    count: u64,
    sum_ns: u128,
    /// Sum of the squares, as an integer, so that the result does not depend on the order of the values.
    sum_of_squares: u128,
    min_ns: u64,
    max_ns: u64,
}

const BITS: u32 = 7;
const BUCKETS: usize = bucket_of(u64::MAX) + 1;

impl NanosHistogram {
    /// Creates an empty histogram.
    pub fn new() -> Self {
        Self {
            counts: vec![0; BUCKETS].into(),
            count: 0,
            sum_ns: 0,
            sum_of_squares: 0,
            min_ns: u64::MAX,
            max_ns: 0,
        }
    }

    /// Records one time. O(1).
    pub fn record(&mut self, ns: u64) {
        self.record_many(ns, 1);
    }

    /// Records `times` equal times.
    pub fn record_many(&mut self, ns: u64, times: u64) {
        if times == 0 {
            return;
        }
        self.counts[bucket_of(ns)] += times;
        self.count += times;
        self.sum_ns += u128::from(ns) * u128::from(times);
        let squares = u128::from(ns).pow(2).saturating_mul(u128::from(times));
        self.sum_of_squares = self.sum_of_squares.saturating_add(squares);
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
        self.count += other.count;
        self.sum_ns += other.sum_ns;
        self.sum_of_squares = self.sum_of_squares.saturating_add(other.sum_of_squares);
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// Returns the number of recorded times.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the exact sum of all times.
    pub fn sum_ns(&self) -> u128 {
        self.sum_ns
    }

    /// Returns the exact minimum; 0 if there are no values.
    pub fn min_ns(&self) -> u64 {
        if self.count == 0 { 0 } else { self.min_ns }
    }

    /// Returns the exact maximum; 0 if there are no values.
    pub fn max_ns(&self) -> u64 {
        self.max_ns
    }

    /// Returns the mean; 0 if there are no values.
    pub fn mean_ns(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum_ns as f64 / self.count as f64 }
    }

    /// Returns the standard deviation of the population; 0 if there are no values.
    pub fn deviation_ns(&self) -> f64 {
        if self.count == 0 {
            return 0.0;
        }
        let mean = self.mean_ns();
        // Rounding can make the difference slightly negative.
        (self.sum_of_squares as f64 / self.count as f64 - mean * mean).max(0.0).sqrt()
    }

    /// Returns the quantile (0 to 1) by the nearest rank, with a relative error of at most 0.4 percent. The
    /// maximum is exact. Returns 0 if there are no values.
    pub fn quantile_ns(&self, quantile: f64) -> u64 {
        if self.count == 0 {
            return 0;
        }
        let rank = (quantile.clamp(0.0, 1.0) * self.count as f64).ceil().max(1.0) as u64;
        if rank >= self.count {
            return self.max_ns;
        }
        let mut seen = 0;
        for (low, high, count) in self.buckets() {
            seen += count;
            if seen >= rank {
                return low.midpoint(high).clamp(self.min_ns, self.max_ns);
            }
        }
        self.max_ns
    }

    /// Returns the number of times below `bound`, with the precision of a bucket.
    pub fn count_below(&self, bound: u64) -> u64 {
        self.counts.iter().take(bucket_of(bound)).sum()
    }

    /// Returns the shortest time, the longest time and the count of every bucket that is not empty.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        let filled = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        filled.map(|(bucket, count)| {
            let (low, high) = times_of(bucket);
            (low, high, *count)
        })
    }
}

impl Default for NanosHistogram {
    fn default() -> Self {
        Self::new()
    }
}

const fn bucket_of(ns: u64) -> usize {
    if ns < 1 << BITS {
        return ns as usize;
    }
    let exponent = ns.ilog2();
    let position = (ns >> (exponent - BITS)) & ((1 << BITS) - 1);
    (((exponent - BITS + 1) as usize) << BITS) + position as usize
}

const fn times_of(bucket: usize) -> (u64, u64) {
    let position = bucket as u64 & ((1 << BITS) - 1);
    match (bucket >> BITS) as u32 {
        0 => (position, position),
        group => {
            let shift = group - 1;
            let low = ((1 << BITS) + position) << shift;
            (low, low + ((1 << shift) - 1))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_each_other_up_to_the_longest_time() {
        let mut next = 0_u64;
        for bucket in 0..BUCKETS {
            let (low, high) = times_of(bucket);
            assert_eq!(low, next, "bucket {bucket}");
            assert_eq!((bucket_of(low), bucket_of(high)), (bucket, bucket));
            next = high.wrapping_add(1);
        }
        assert_eq!(next, 0);
    }

    #[test]
    fn quantiles_are_known_to_half_a_percent() {
        let mut histogram = NanosHistogram::new();
        (1..=100_000_u64).for_each(|time| histogram.record(time * 997));
        for (quantile, true_ns) in [(0.5, 50_000.0 * 997.0), (0.99, 99_000.0 * 997.0), (0.001, 100.0 * 997.0)]
        {
            let error = (histogram.quantile_ns(quantile) as f64 / true_ns - 1.0).abs();
            assert!(error < 0.005, "{quantile}: {error}");
        }
        assert_eq!((histogram.min_ns(), histogram.max_ns()), (997, 99_700_000));
        assert_eq!(histogram.quantile_ns(1.0), 99_700_000);
        let below = histogram.count_below(50_000 * 997);
        assert!(below.abs_diff(50_000) < 500, "{below}");
    }

    #[test]
    fn mean_and_deviation_are_those_of_the_values() {
        let mut histogram = NanosHistogram::new();
        [2e6, 4e6, 4e6, 4e6, 5e6, 5e6, 7e6, 9e6].into_iter().for_each(|ns| histogram.record(ns as u64));
        assert!((histogram.mean_ns() - 5e6).abs() < 1e-3);
        assert!((histogram.deviation_ns() - 2e6).abs() < 1.0);
    }

    #[test]
    fn two_that_are_merged_are_as_one_that_counted_everything() {
        let (mut a, mut b, mut all) = (NanosHistogram::new(), NanosHistogram::new(), NanosHistogram::new());
        for ns in [3, 1_000, 5_000_000, u64::MAX] {
            a.record(ns);
            all.record(ns);
        }
        for ns in [1, 70_000] {
            b.record(ns);
            all.record(ns);
        }
        a.merge(&b);
        assert_eq!((a.count(), a.sum_ns(), a.min_ns(), a.max_ns()), (all.count(), all.sum_ns(), 1, u64::MAX));
        assert_eq!(a.buckets().collect::<Vec<_>>(), all.buckets().collect::<Vec<_>>());
    }

    #[test]
    fn nothing_has_no_times() {
        let none = NanosHistogram::new();
        assert_eq!((none.quantile_ns(0.5), none.min_ns(), none.max_ns()), (0, 0, 0));
        assert_eq!((none.mean_ns(), none.deviation_ns()), (0.0, 0.0));
    }
}
