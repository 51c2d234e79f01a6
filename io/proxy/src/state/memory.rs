//! The flag for a memory shortage.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Memory limit and shortage, as the control plane last measured them.
#[derive(Debug, Default)]
pub struct MemoryState {
    is_short: AtomicBool,
    /// Memory limit in bytes; 0 = none.
    limit: AtomicU64,
    shortages: AtomicU64,
}

impl MemoryState {
    /// Returns true if memory is short.
    #[inline]
    pub fn is_short(&self) -> bool {
        self.is_short.load(Ordering::Relaxed)
    }

    /// Returns the memory limit of the process in bytes; `None` = no limit.
    pub fn limit(&self) -> Option<u64> {
        Some(self.limit.load(Ordering::Relaxed)).filter(|limit| *limit > 0)
    }

    /// Returns how often memory has become short.
    pub fn shortages(&self) -> u64 {
        self.shortages.load(Ordering::Relaxed)
    }

    /// Sets the shortage flag and the limit. Returns true if the flag changed.
    pub(crate) fn set(&self, is_short: bool, limit: Option<u64>) -> bool {
        self.limit.store(limit.unwrap_or(0), Ordering::Relaxed);
        let was_short = self.is_short.swap(is_short, Ordering::Relaxed);
        if is_short && !was_short {
            self.shortages.fetch_add(1, Ordering::Relaxed);
        }
        is_short != was_short
    }
}
