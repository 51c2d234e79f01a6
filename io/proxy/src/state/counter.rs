//! Counters that only one thread writes.

use std::sync::atomic::{AtomicU64, Ordering};

use weir_http::RefusalRule;

/// A counter with one writer and any number of readers. An addition is a load and a store, without a locked
/// instruction.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds `n`. Only the owning thread may call it.
    pub fn add(&self, n: u64) {
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_add(n), Ordering::Relaxed);
    }

    /// Adds one.
    pub fn one(&self) {
        self.add(1);
    }

    /// Subtracts `n`, for gauges. Only the owning thread may call it.
    pub fn subtract(&self, n: u64) {
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_sub(n), Ordering::Relaxed);
    }

    /// Returns the value.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Responses by status class: 1xx to 5xx, and all others.
#[derive(Debug, Default)]
pub struct StatusClasses([Counter; 6]);

impl StatusClasses {
    /// Counts one response.
    pub fn count(&self, status: u16) {
        let class = match status / 100 {
            class @ 1..=5 => usize::from(class) - 1,
            _ => 5,
        };
        self.0[class].one();
    }

    /// Returns the counts for 1xx, 2xx, 3xx, 4xx, 5xx and other.
    pub fn get(&self) -> [u64; 6] {
        std::array::from_fn(|class| self.0[class].get())
    }
}

/// Refused requests, by the rule that refused them.
#[derive(Debug)]
pub struct RefusalCounts([Counter; RefusalRule::ALL.len()]);

impl RefusalCounts {
    /// Counts one request that `rule` refused.
    pub fn count(&self, rule: RefusalRule) {
        self.0[rule as usize].one();
    }

    /// Returns how many requests `rule` has refused.
    pub fn of(&self, rule: RefusalRule) -> u64 {
        self.0[rule as usize].get()
    }
}

impl Default for RefusalCounts {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Counter::default()))
    }
}
