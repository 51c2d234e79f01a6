use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::{Histogram, MICROS_MAX, Resolution};

/// A histogram that one thread writes and any thread may read.
///
/// One writer only: a value is counted with plain loads and stores, which cost a third of an atomic addition; with two
/// writers some values would be missed. A reader may see a value in the counts before it is in the sum.
#[derive(Debug)]
pub struct SharedHistogram {
    resolution: Resolution,
    counts: Box<[AtomicU64]>,
    sum: AtomicU64,
    max: AtomicU64,
}

impl SharedHistogram {
    /// An empty one.
    pub fn new(resolution: Resolution) -> Self {
        let counts = (0..resolution.buckets()).map(|_| AtomicU64::new(0)).collect();
        Self { resolution, counts, sum: AtomicU64::new(0), max: AtomicU64::new(0) }
    }

    /// Counts one value, in microseconds. O(1). Only ever called by one thread.
    pub fn record(&self, micros: u64) {
        let micros = micros.min(MICROS_MAX);
        add(&self.counts[self.resolution.bucket_of(micros)], 1);
        add(&self.sum, micros);
        if micros > self.max.load(Relaxed) {
            self.max.store(micros, Relaxed);
        }
    }

    /// Adds what was counted so far to `total`.
    pub fn add_to(&self, total: &mut Histogram) {
        let counts = self.counts.iter().map(|count| count.load(Relaxed));
        total.merge_parts(self.resolution, counts, self.sum.load(Relaxed), self.max.load(Relaxed));
    }

    /// What was counted so far.
    pub fn snapshot(&self) -> Histogram {
        let mut total = Histogram::new(self.resolution);
        self.add_to(&mut total);
        total
    }
}

impl Default for SharedHistogram {
    fn default() -> Self {
        Self::new(Resolution::default())
    }
}

fn add(counter: &AtomicU64, amount: u64) {
    counter.store(counter.load(Relaxed).wrapping_add(amount), Relaxed);
}
