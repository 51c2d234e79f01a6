//! A histogram for one thread.

use crate::{MICROS_MAX, Resolution};

/// A histogram of times, for one thread or for the sum of other histograms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Histogram {
    resolution: Resolution,
    counts: Box<[u64]>,
    sum: u64,
    max: u64,
}

impl Histogram {
    /// Creates an empty histogram.
    pub fn new(resolution: Resolution) -> Self {
        Self { resolution, counts: vec![0; resolution.buckets()].into(), sum: 0, max: 0 }
    }

    /// Records one value in microseconds. O(1).
    pub fn record(&mut self, micros: u64) {
        self.record_many(micros, 1);
    }

    /// Records `times` equal values in microseconds.
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

    /// Adds the counts of `other`. The result has the coarser resolution of the two.
    pub fn merge(&mut self, other: &Self) {
        self.merge_parts(other.resolution, other.counts.iter().copied(), other.sum, other.max);
    }

    /// Removes all values.
    pub fn clear(&mut self) {
        self.counts.fill(0);
        self.sum = 0;
        self.max = 0;
    }

    /// Returns the resolution.
    pub fn resolution(&self) -> Resolution {
        self.resolution
    }

    /// Returns the number of recorded values.
    pub fn count(&self) -> u64 {
        self.counts.iter().fold(0, |count, one| count.saturating_add(*one))
    }

    /// Returns the sum of all values in microseconds. It is exact, except that values over [`MICROS_MAX`]
    /// count as [`MICROS_MAX`].
    pub fn sum(&self) -> u64 {
        self.sum
    }

    /// Returns the maximum value in microseconds, exact up to [`MICROS_MAX`]; 0 if there are no values.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// Returns the mean in microseconds, or `None` if there are no values.
    pub fn mean(&self) -> Option<f64> {
        let count = self.count();
        (count > 0).then(|| self.sum as f64 / count as f64)
    }

    /// Returns the quantile (0 to 1) in microseconds, by the nearest rank: the smallest value such that at
    /// least this share of all values is not above it. The result is the middle of the value's bucket, so it
    /// has the precision of the [`Resolution`]. The maximum is exact. Returns `None` if there are no values.
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

    /// Returns the number of values up to each of `bounds` (microseconds, ascending), as for Prometheus `le`
    /// buckets. If a bound divides a bucket, the bucket's values are assumed to be evenly distributed. The
    /// numbers never decrease from one bound to the next, nor when values are added.
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

    /// Returns the smallest value, the largest value and the count of every bucket that is not empty.
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
