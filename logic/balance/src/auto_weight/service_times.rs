use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// What a request makes a server do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestClass {
    /// Compute: the answer is made for this request.
    Dynamic = 0,
    /// Fetch: the answer lies in a file or a cache.
    Static = 1,
}

impl RequestClass {
    /// How many there are.
    pub const COUNT: usize = 2;
    /// Each of them, in the order of their numbers.
    pub const ALL: [Self; Self::COUNT] = [Self::Dynamic, Self::Static];
}

/// Buckets for each doubling of the time: a bucket is 19% wide.
const PER_DOUBLING: usize = 4;
/// From a microsecond to nearly five hours.
const DOUBLINGS: usize = 34;
const BUCKETS: usize = DOUBLINGS * PER_DOUBLING;

/// The service times of one server by class, since each was last taken. Shared by all workers, without locks.
#[derive(Debug)]
pub struct ServiceTimes {
    classes: [[AtomicU32; BUCKETS]; RequestClass::COUNT],
}

/// What was measured of one class.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ClassWindow {
    /// Requests.
    pub requests: u64,
    /// The lower quartile of their times in microseconds: a server that has to queue requests is no slower by that, and a single
    /// answer from a cache makes it no faster.
    pub typical_us: f64,
}

impl Default for ServiceTimes {
    fn default() -> Self {
        Self { classes: [const { [const { AtomicU32::new(0) }; BUCKETS] }; RequestClass::COUNT] }
    }
}

impl ServiceTimes {
    /// A request was answered: so long from its last byte to the response's first.
    pub fn add(&self, class: RequestClass, time_us: u64) {
        if let Some(bucket) = self.classes[class as usize].get(bucket_of(time_us)) {
            bucket.fetch_add(1, Relaxed);
        }
    }

    /// How many requests of a class have come together.
    pub fn requests(&self, class: RequestClass) -> u64 {
        self.classes[class as usize].iter().map(|bucket| u64::from(bucket.load(Relaxed))).sum()
    }

    /// What has come together of a class, which begins anew.
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

/// The middle of a bucket, on the scale of ratios.
fn middle_us(bucket: usize) -> f64 {
    ((bucket as f64 + 0.5) / PER_DOUBLING as f64).exp2()
}
