use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Whether memory is short, as the control plane has found it.
#[derive(Debug, Default)]
pub struct MemoryState {
    is_short: AtomicBool,
    /// In bytes; 0 = none.
    limit: AtomicU64,
    shortages: AtomicU64,
}

impl MemoryState {
    /// Whether it is.
    #[inline]
    pub fn is_short(&self) -> bool {
        self.is_short.load(Ordering::Relaxed)
    }

    /// What the process should not exceed, in bytes; `None` = no limit.
    pub fn limit(&self) -> Option<u64> {
        Some(self.limit.load(Ordering::Relaxed)).filter(|limit| *limit > 0)
    }

    /// How often it has become short.
    pub fn shortages(&self) -> u64 {
        self.shortages.load(Ordering::Relaxed)
    }

    /// Whether it is short from now on, and of what limit. Returns whether that is a change.
    pub(crate) fn set(&self, is_short: bool, limit: Option<u64>) -> bool {
        self.limit.store(limit.unwrap_or(0), Ordering::Relaxed);
        let was_short = self.is_short.swap(is_short, Ordering::Relaxed);
        if is_short && !was_short {
            self.shortages.fetch_add(1, Ordering::Relaxed);
        }
        is_short != was_short
    }
}
