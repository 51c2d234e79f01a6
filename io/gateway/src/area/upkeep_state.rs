//! The state of an area's upkeep, which outlives reloads.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What upkeep knows of an area.
#[derive(Debug)]
pub(crate) struct UpkeepState {
    /// Bytes that the file system has room for; `u64::MAX` = nobody has looked yet.
    pub(crate) available: AtomicU64,
    /// When the last count of files began, in seconds since 1970; 0 = none in this process.
    pub(crate) counted_at_s: AtomicU64,
    /// When uploads were looked at last, in seconds since 1970.
    pub(crate) swept_at_s: AtomicU64,
    /// A count is under way.
    pub(crate) counting: AtomicBool,
}

impl Default for UpkeepState {
    fn default() -> Self {
        Self {
            available: AtomicU64::new(u64::MAX),
            counted_at_s: AtomicU64::new(0),
            swept_at_s: AtomicU64::new(0),
            counting: AtomicBool::new(false),
        }
    }
}

impl UpkeepState {
    /// Bytes that the file system has room for; `None` = nobody has looked yet.
    pub(crate) fn available(&self) -> Option<u64> {
        Some(self.available.load(Ordering::Relaxed)).filter(|bytes| *bytes != u64::MAX)
    }
}

/// The search of an area for files without checksums. It outlives reloads.
#[derive(Debug, Default)]
pub(crate) struct BackfillState {
    /// When the last look began, in seconds since 1970; 0 = none in this process.
    pub(crate) began_s: AtomicU64,
    /// One is under way.
    pub(crate) is_looking: AtomicBool,
}
