use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::{Histogram, MICROS_MAX, Resolution};

/// A histogram that one thread writes and any thread may read, of [`Resolution::Fine`].
///
/// One writer only: a value is counted with plain loads and stores, which cost a third of an atomic addition; with two
/// writers some values would be missed. A reader may see a value in the counts before it is in the sum.
///
/// In one piece: where there are thousands of them, a value meets two lines of memory that no cache holds, both mostly on one page, and none
/// that says where the other is.
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
    /// Counts one value, in microseconds. O(1). Only ever called by one thread.
    #[inline]
    pub fn record(&self, micros: u64) {
        let micros = micros.min(MICROS_MAX);
        add(&self.counts[RESOLUTION.bucket_of(micros)], 1);
        add(&self.sum, micros);
        if micros > self.max.load(Relaxed) {
            self.max.store(micros, Relaxed);
        }
    }

    /// Reads what [`SharedHistogram::record`] would change, so that it is in the processor's cache by then. The number means nothing.
    pub fn peek(&self, micros: u64) -> u64 {
        let count = &self.counts[RESOLUTION.bucket_of(micros.min(MICROS_MAX))];
        self.sum.load(Relaxed).wrapping_add(count.load(Relaxed))
    }

    /// Adds what was counted so far to `total`.
    pub fn add_to(&self, total: &mut Histogram) {
        let counts = self.counts.iter().map(|count| count.load(Relaxed));
        total.merge_parts(RESOLUTION, counts, self.sum.load(Relaxed), self.max.load(Relaxed));
    }

    /// What was counted so far.
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
