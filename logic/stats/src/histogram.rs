use crate::{MICROS_MAX, Resolution};

/// How often values of each size occurred; for one thread, or for adding up what others counted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Histogram {
    resolution: Resolution,
    counts: Box<[u64]>,
    sum: u64,
    max: u64,
}

impl Histogram {
    /// An empty one.
    pub fn new(resolution: Resolution) -> Self {
        Self { resolution, counts: vec![0; resolution.buckets()].into(), sum: 0, max: 0 }
    }

    /// Counts one value, in microseconds. O(1).
    pub fn record(&mut self, micros: u64) {
        self.record_many(micros, 1);
    }

    /// Counts `times` equal values, in microseconds.
    pub fn record_many(&mut self, micros: u64, times: u64) {
        if times == 0 {
            return;
        }
        let micros = micros.min(MICROS_MAX);
        let count = &mut self.counts[self.resolution.bucket_of(micros)];
        *count = count.saturating_add(times);
        self.sum = self.sum.saturating_add(micros.saturating_mul(times));
        self.max = self.max.max(micros);
    }

    /// Adds what `other` counted. The result has the coarser resolution of the two.
    pub fn merge(&mut self, other: &Self) {
        self.merge_parts(other.resolution, other.counts.iter().copied(), other.sum, other.max);
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.counts.fill(0);
        self.sum = 0;
        self.max = 0;
    }

    /// How finely values are told apart.
    pub fn resolution(&self) -> Resolution {
        self.resolution
    }

    /// How many values were counted.
    pub fn count(&self) -> u64 {
        self.counts.iter().fold(0, |count, one| count.saturating_add(*one))
    }

    /// The sum of all values in microseconds, exact but that values over [`MICROS_MAX`] count as that.
    pub fn sum(&self) -> u64 {
        self.sum
    }

    /// The greatest value in microseconds, exact up to [`MICROS_MAX`]; 0 if there is none.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// The mean in microseconds; None of no values.
    pub fn mean(&self) -> Option<f64> {
        let count = self.count();
        (count > 0).then(|| self.sum as f64 / count as f64)
    }

    /// The smallest value that at least the share `quantile` (0 to 1) of all values do not exceed, in microseconds:
    /// the nearest rank, known to the [`Resolution`]'s precision (the middle of its bucket); the greatest value is
    /// known exactly. None of no values.
    pub fn quantile(&self, quantile: f64) -> Option<u64> {
        let count = self.count();
        if count == 0 {
            return None;
        }
        let rank = (quantile.clamp(0.0, 1.0) * count as f64).ceil().max(1.0) as u64;
        if rank >= count {
            return Some(self.max);
        }
        let mut seen: u64 = 0;
        for (bucket, counted) in self.counts.iter().enumerate() {
            seen = seen.saturating_add(*counted);
            if seen >= rank {
                let values = self.resolution.values_of(bucket);
                return Some(values.start().midpoint(*values.end()).min(self.max));
            }
        }
        Some(self.max)
    }

    /// How many values are at most each of `bounds` (microseconds, ascending): what Prometheus calls `le` buckets. Of
    /// the one bucket that a bound divides, the share below the bound is taken. Never decreases from bound to bound,
    /// nor as values are added.
    pub fn counts_up_to<'a>(&'a self, bounds: &'a [u64]) -> impl Iterator<Item = u64> + 'a {
        let mut below: u64 = 0;
        let mut bucket = 0;
        bounds.iter().map(move |bound| {
            while bucket < self.counts.len() && self.resolution.values_of(bucket).end() <= bound {
                below = below.saturating_add(self.counts[bucket]);
                bucket += 1;
            }
            below.saturating_add(self.share_up_to(bucket, *bound))
        })
    }

    /// Every bucket that counted something: its smallest value, its greatest, and how many.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        let filled = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        filled.map(|(bucket, count)| {
            let values = self.resolution.values_of(bucket);
            (*values.start(), *values.end(), *count)
        })
    }

    pub(crate) fn merge_parts(
        &mut self,
        resolution: Resolution,
        counts: impl Iterator<Item = u64>,
        sum: u64,
        max: u64,
    ) {
        if resolution < self.resolution {
            let mut coarser = Self::new(resolution);
            coarser.merge(self);
            *self = coarser;
        }
        for (bucket, count) in counts.enumerate().filter(|(_, count)| *count > 0) {
            let mine = &mut self.counts[self.resolution.bucket_of(*resolution.values_of(bucket).start())];
            *mine = mine.saturating_add(count);
        }
        self.sum = self.sum.saturating_add(sum);
        self.max = self.max.max(max);
    }

    fn share_up_to(&self, bucket: usize, bound: u64) -> u64 {
        let Some(count) = self.counts.get(bucket) else { return 0 };
        let values = self.resolution.values_of(bucket);
        if bound < *values.start() {
            return 0;
        }
        let width = u128::from(values.end() - values.start() + 1);
        (u128::from(*count) * u128::from(bound - values.start() + 1) / width) as u64
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new(Resolution::default())
    }
}
