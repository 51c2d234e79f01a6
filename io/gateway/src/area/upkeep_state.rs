//! State of an area's upkeep. It outlives reloads.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// State of the upkeep of one area.
#[derive(Debug)]
pub(crate) struct UpkeepState {
    /// Free bytes on the file system; `u64::MAX` means that they are not known yet.
    pub(crate) available: AtomicU64,
    /// Start of the last file count, in seconds since 1970; 0 means none in this process.
    pub(crate) counted_at_s: AtomicU64,
    /// Last check for abandoned uploads, in seconds since 1970.
    pub(crate) swept_at_s: AtomicU64,
    /// Set while a count is in progress.
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
    /// Returns the free bytes on the file system; `None` if they are not known yet.
    pub(crate) fn available(&self) -> Option<u64> {
        Some(self.available.load(Ordering::Relaxed)).filter(|bytes| *bytes != u64::MAX)
    }
}

/// State of the search for files without checksums. It outlives reloads.
#[derive(Debug, Default)]
pub(crate) struct BackfillState {
    /// Start of the last search, in seconds since 1970; 0 means none in this process.
    pub(crate) began_s: AtomicU64,
    /// Set while a search is in progress.
    pub(crate) is_looking: AtomicBool,
}
