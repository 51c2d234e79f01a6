//! A histogram with one writer thread and many readers.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::{Histogram, MICROS_MAX, Resolution};

/// A histogram of [`Resolution::Fine`] with one writer thread and any number of readers.
///
/// Only one thread may write: recording uses plain loads and stores, which cost a third of an atomic
/// addition. A second writer would lose some values. A reader may see a value in the counts before it is in
/// the sum.
///
/// The counts are stored inline. With thousands of histograms, most of this memory is not in the CPU cache.
/// Recording a value then loads two cache lines, usually of the same page. If the counts were behind a
/// pointer, reading it could load a third line.
#[derive(Debug)]
#[repr(C)]
pub struct SharedHistogram {
    sum: AtomicU64,
    max: AtomicU64,
    counts: [AtomicU64; BUCKETS],
}

const RESOLUTION: Resolution = Resolution::Fine;
const BUCKETS: usize = RESOLUTION.buckets();

impl SharedHistogram {
    /// Records one value in microseconds. O(1). Only one thread may call it.
    #[inline]
    pub fn record(&self, micros: u64) {
        let micros = micros.min(MICROS_MAX);
        add(&self.counts[RESOLUTION.bucket_of(micros)], 1);
        add(&self.sum, micros);
        if micros > self.max.load(Relaxed) {
            self.max.store(micros, Relaxed);
        }
    }

    /// Reads the memory that [`SharedHistogram::record`] will change, to load it into the CPU cache in
    /// advance. The result has no meaning.
    pub fn peek(&self, micros: u64) -> u64 {
        let count = &self.counts[RESOLUTION.bucket_of(micros.min(MICROS_MAX))];
        self.sum.load(Relaxed).wrapping_add(count.load(Relaxed))
    }

    /// Adds the counts so far to `total`.
    pub fn add_to(&self, total: &mut Histogram) {
        let counts = self.counts.iter().map(|count| count.load(Relaxed));
        total.merge_parts(RESOLUTION, counts, self.sum.load(Relaxed), self.max.load(Relaxed));
    }

    /// Returns a copy of the counts so far.
    pub fn snapshot(&self) -> Histogram {
        let mut total = Histogram::new(RESOLUTION);
        self.add_to(&mut total);
        total
    }
}

impl Default for SharedHistogram {
    fn default() -> Self {
        Self {
            sum: AtomicU64::new(0),
            max: AtomicU64::new(0),
            counts: [const { AtomicU64::new(0) }; BUCKETS],
        }
    }
}

pub(crate) fn add(counter: &AtomicU64, amount: u64) {
    counter.store(counter.load(Relaxed).wrapping_add(amount), Relaxed);
}
