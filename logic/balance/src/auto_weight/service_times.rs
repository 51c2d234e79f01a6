//! Histograms of a server's service times, by class of request.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Kind of work that a request causes at a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestClass {
    /// Compute: the server generates the response for this request.
    Dynamic = 0,
    /// Fetch: the response is in a file or a cache.
    Static = 1,
}

impl RequestClass {
    /// Number of classes.
    pub const COUNT: usize = 2;
    /// All classes, in the order of their numbers.
    pub const ALL: [Self; Self::COUNT] = [Self::Dynamic, Self::Static];
}

/// Buckets for each doubling of the time: a bucket is 19% wide.
const PER_DOUBLING: usize = 4;
/// Doublings from a microsecond to nearly five hours.
const DOUBLINGS: usize = 34;
const BUCKETS: usize = DOUBLINGS * PER_DOUBLING;

/// Service times of one server by class, since each class was last taken. All workers share it without locks.
#[derive(Debug)]
pub struct ServiceTimes {
    classes: [[AtomicU32; BUCKETS]; RequestClass::COUNT],
}

/// Measurements of one class.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ClassWindow {
    /// Number of requests.
    pub requests: u64,
    /// Lower quartile of the times in microseconds. A server that queues requests does not appear slower by
    /// it, and a single response from a cache does not make it appear faster.
    pub typical_us: f64,
}

impl Default for ServiceTimes {
    fn default() -> Self {
        Self { classes: [const { [const { AtomicU32::new(0) }; BUCKETS] }; RequestClass::COUNT] }
    }
}

impl ServiceTimes {
    /// Records the time of an answered request, from its last byte to the response's first byte.
    pub fn add(&self, class: RequestClass, time_us: u64) {
        if let Some(bucket) = self.classes[class as usize].get(bucket_of(time_us)) {
            bucket.fetch_add(1, Relaxed);
        }
    }

    /// Returns the number of recorded requests of a class.
    pub fn requests(&self, class: RequestClass) -> u64 {
        self.classes[class as usize].iter().map(|bucket| u64::from(bucket.load(Relaxed))).sum()
    }

    /// Returns the measurements of a class and resets them.
    pub fn take(&self, class: RequestClass) -> ClassWindow {
        let counts = self.classes[class as usize].each_ref().map(|bucket| u64::from(bucket.swap(0, Relaxed)));
        let requests: u64 = counts.iter().sum();
        let mut below = requests.div_ceil(4);
        let quartile = counts.iter().position(|count| {
            let is_here = below <= *count;
            below = below.saturating_sub(*count);
            is_here
        });
        let typical_us = quartile.filter(|_| requests > 0).map_or(0.0, middle_us);
        ClassWindow { requests, typical_us }
    }
}

fn bucket_of(time_us: u64) -> usize {
    let position = (time_us.max(1) as f64).log2() * PER_DOUBLING as f64;
    (position as usize).min(BUCKETS - 1)
}

/// Returns the geometric middle of a bucket.
fn middle_us(bucket: usize) -> f64 {
    ((bucket as f64 + 0.5) / PER_DOUBLING as f64).exp2()
}
