use std::sync::atomic::{AtomicU64, Ordering};

use weir_http::RefusalRule;

/// A counter with one writer and any number of readers: an addition is a load and a store, not a locked instruction.
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

    /// Takes `n` away: for gauges. Only the owning thread may call it.
    pub fn subtract(&self, n: u64) {
        self.0.store(self.0.load(Ordering::Relaxed).wrapping_sub(n), Ordering::Relaxed);
    }

    /// The value.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Responses by class of status: 1xx to 5xx, and anything else.
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

    /// 1xx, 2xx, 3xx, 4xx, 5xx, other.
    pub fn get(&self) -> [u64; 6] {
        std::array::from_fn(|class| self.0[class].get())
    }
}

/// Requests that were refused, by what was wrong with them.
#[derive(Debug)]
pub struct RefusalCounts([Counter; RefusalRule::ALL.len()]);

impl RefusalCounts {
    /// Counts one request.
    pub fn count(&self, rule: RefusalRule) {
        self.0[rule as usize].one();
    }

    /// How many `rule` has refused.
    pub fn of(&self, rule: RefusalRule) -> u64 {
        self.0[rule as usize].get()
    }
}

impl Default for RefusalCounts {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Counter::default()))
    }
}
