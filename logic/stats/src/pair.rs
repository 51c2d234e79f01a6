//! Two histograms whose counts share cache lines.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use crate::shared::add;
use crate::{Histogram, MICROS_MAX, Resolution};

/// Two histograms of [`Resolution::Fine`] with one writer thread and any number of readers. They count two
/// times of the same event that are usually close to each other, such as the time until a response begins and
/// until it ends. As for [`SharedHistogram`](crate::SharedHistogram), a reader may see a value in the counts
/// before it is in the sum.
///
/// The memory of thousands of pairs does not fit into the CPU cache. So each cache line holds the counts of
/// the same four buckets of both histograms. The sums are stored inline, next to the other counters of the
/// owner. The counts are allocated when the first value is recorded.
#[derive(Debug, Default)]
#[repr(C)]
pub struct HistogramPair {
    counts: OnceLock<Box<Counts>>,
    sums: [AtomicU64; 2],
    /// Maxima; they fit into 32 bits because no recorded value is above [`MICROS_MAX`].
    maxima: [AtomicU32; 2],
}

/// The choice of one histogram of a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// The first histogram.
    First = 0,
    /// The second histogram.
    Second = 1,
}

#[derive(Debug)]
struct Counts([Line; LINES]);

/// The counts of consecutive buckets: those of the first histogram, then those of the second.
#[derive(Debug)]
#[repr(align(64))]
struct Line([[AtomicU64; BUCKETS_PER_LINE]; 2]);

const RESOLUTION: Resolution = Resolution::Fine;
const BUCKETS_PER_LINE: usize = 4;
const LINES: usize = RESOLUTION.buckets().div_ceil(BUCKETS_PER_LINE);

impl HistogramPair {
    /// Records one value in microseconds. O(1). Only one thread may call it.
    #[inline]
    pub fn record(&self, side: Side, micros: u64) {
        let micros = micros.min(MICROS_MAX);
        let bucket = RESOLUTION.bucket_of(micros);
        let counts = self.counts.get_or_init(Box::default);
        add(&counts.0[bucket / BUCKETS_PER_LINE].0[side as usize][bucket % BUCKETS_PER_LINE], 1);
        add(&self.sums[side as usize], micros);
        let (max, micros) = (&self.maxima[side as usize], micros as u32);
        if micros > max.load(Relaxed) {
            max.store(micros, Relaxed);
        }
    }

    /// Reads the memory that [`HistogramPair::record`] will change, to load it into the CPU cache in advance.
    /// The result has no meaning.
    #[inline]
    pub fn peek(&self, side: Side, micros: u64) -> u64 {
        let bucket = RESOLUTION.bucket_of(micros.min(MICROS_MAX));
        let Some(counts) = self.counts.get() else { return 0 };
        let count = &counts.0[bucket / BUCKETS_PER_LINE].0[side as usize][bucket % BUCKETS_PER_LINE];
        self.sums[side as usize].load(Relaxed).wrapping_add(count.load(Relaxed))
    }

    /// Returns true if no value has been recorded.
    pub fn is_empty(&self, side: Side) -> bool {
        self.maxima[side as usize].load(Relaxed) == 0 && self.counts_of(side).all(|count| count == 0)
    }

    /// Adds the counts so far to `total`.
    pub fn add_to(&self, side: Side, total: &mut Histogram) {
        let sum = self.sums[side as usize].load(Relaxed);
        let max = self.maxima[side as usize].load(Relaxed);
        total.merge_parts(RESOLUTION, self.counts_of(side), sum, max.into());
    }

    /// Returns the counts in the order of the buckets.
    fn counts_of(&self, side: Side) -> impl Iterator<Item = u64> {
        let lines = self.counts.get().into_iter().flat_map(|counts| &counts.0);
        lines.flat_map(move |line| &line.0[side as usize]).map(|count| count.load(Relaxed))
    }
}

impl Default for Counts {
    fn default() -> Self {
        Self([const { Line([const { [const { AtomicU64::new(0) }; BUCKETS_PER_LINE] }; 2]) }; LINES])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_values_of_both_are_on_one_cache_line_and_a_pair_is_small() {
        assert_eq!(size_of::<Line>(), 64);
        assert!(size_of::<HistogramPair>() <= 40, "{}", size_of::<HistogramPair>());
    }

    #[test]
    fn less_than_a_microsecond_counts_too_and_for_its_own_side_alone() {
        let pair = HistogramPair::default();
        pair.record(Side::Second, 0);
        assert!(pair.is_empty(Side::First) && !pair.is_empty(Side::Second));
        let mut total = Histogram::new(RESOLUTION);
        pair.add_to(Side::Second, &mut total);
        assert_eq!((total.count(), total.max()), (1, 0));
    }
}
