//! Live counters of a run.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use weir_stats::{Histogram, Resolution, SharedHistogram};

use crate::facts::Expected;
use crate::record::Record;

/// Live counters of one thread. Each has one writer, and must not share a cache line with the counters of
/// another thread.
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct LiveThread {
    pub(super) due: AtomicU64,
    pub(super) sent: AtomicU64,
    pub(super) late: AtomicU64,
    answered: AtomicU64,
    failed: AtomicU64,
    bytes_in: AtomicU64,
    latency: SharedHistogram,
}

/// Progress of a run, as sums since its start.
#[derive(Debug, Clone)]
pub struct Progress {
    /// Time since the start, in seconds.
    pub at_s: f64,
    /// Requests that became due.
    pub due: u64,
    /// Requests that were sent.
    pub sent: u64,
    /// Requests that started over 1 ms late.
    pub late: u64,
    /// Requests with a complete response.
    pub answered: u64,
    /// Requests that failed or got an unexpected status.
    pub failed: u64,
    /// Bytes of response bodies.
    pub bytes_in: u64,
    /// Latencies from the due time, in microseconds.
    pub latency: Histogram,
}

impl LiveThread {
    pub(super) fn new() -> Self {
        Self {
            due: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            late: AtomicU64::new(0),
            answered: AtomicU64::new(0),
            failed: AtomicU64::new(0),
            bytes_in: AtomicU64::new(0),
            latency: SharedHistogram::default(),
        }
    }

    pub(super) fn add(&self, record: &Record, expected: &Expected) {
        if record.fault.is_none() {
            add(&self.answered, 1);
            self.latency.record(record.latency_ns() / 1_000);
        }
        if record.fault.is_some() || !expected.accepts(record.status) {
            add(&self.failed, 1);
        }
        add(&self.bytes_in, record.bytes_in);
    }
}

/// Adds to a counter with one writer. A load and a store cost less than an atomic addition.
pub(super) fn add(counter: &AtomicU64, count: u64) {
    counter.store(counter.load(Relaxed) + count, Relaxed);
}

impl Progress {
    pub(super) fn of(threads: &[LiveThread], at_s: f64) -> Self {
        let sum = |field: fn(&LiveThread) -> &AtomicU64| {
            threads.iter().map(|thread| field(thread).load(Relaxed)).sum()
        };
        let mut latency = Histogram::new(Resolution::Fine);
        threads.iter().for_each(|thread| thread.latency.add_to(&mut latency));
        Self {
            at_s,
            due: sum(|thread| &thread.due),
            sent: sum(|thread| &thread.sent),
            late: sum(|thread| &thread.late),
            answered: sum(|thread| &thread.answered),
            failed: sum(|thread| &thread.failed),
            bytes_in: sum(|thread| &thread.bytes_in),
            latency,
        }
    }
}
