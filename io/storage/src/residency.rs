//! Memory of which portions of a file are in the page cache.

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Bytes of a file that are remembered together.
pub const PORTION_BYTES: u64 = 1024 * 1024;
/// Largest number of portions of a file that is remembered: each one takes 4 bytes of memory.
const PORTIONS_MAX: u64 = 4096;
/// Time for which a portion is assumed to stay in the page cache. The kernel evicts what was just read last.
/// It is longer than sending 1 GB takes, so that several clients of one file do not all cause checks.
const RESIDENT_FOR: Duration = Duration::from_secs(5);
/// Time step in milliseconds. Its 32-bit counter lasts for a file that stays open for over a year.
const STEP_MS: u128 = 10;

/// Portions of a file that were seen in the page cache, with the time. Checking each page costs a sixteenth
/// of sending it.
#[derive(Debug)]
pub(crate) struct Residency {
    file_bytes: u64,
    since: Instant,
    /// For each portion, the step after `since` at which it was last seen, plus 1; 0 = never.
    seen_at: OnceLock<Box<[AtomicU32]>>,
}

impl Residency {
    /// Creates an empty record for a file.
    pub(crate) fn new(file_bytes: u64, now: Instant) -> Self {
        Self { file_bytes, since: now, seen_at: OnceLock::new() }
    }

    /// Records the whole portions within a part of the file that was found in the page cache.
    pub(crate) fn saw(&self, offset: u64, bytes: u64, now: Instant) {
        let portions = self.file_bytes.div_ceil(PORTION_BYTES);
        let Some(at) = self.steps(now).and_then(|at| at.checked_add(1)) else { return };
        if portions > PORTIONS_MAX {
            return;
        }
        let end = offset.saturating_add(bytes);
        let whole_to = if end >= self.file_bytes { portions } else { end / PORTION_BYTES };
        let whole = offset.div_ceil(PORTION_BYTES)..whole_to;
        if whole.is_empty() {
            return;
        }
        let seen_at = self.seen_at.get_or_init(|| (0..portions).map(|_| AtomicU32::new(0)).collect());
        self.within(seen_at, &whole).iter().for_each(|seen| seen.store(at, Ordering::Relaxed));
    }

    /// Returns whether a whole part of the file was found in the page cache a moment ago.
    pub(crate) fn was_seen(&self, offset: u64, bytes: u64, now: Instant) -> bool {
        let (Some(seen_at), Some(now)) = (self.seen_at.get(), self.steps(now)) else { return false };
        let touched = offset / PORTION_BYTES..offset.saturating_add(bytes).div_ceil(PORTION_BYTES);
        let is_recent = |seen: &AtomicU32| match seen.load(Ordering::Relaxed).checked_sub(1) {
            None => false,
            Some(at) => u128::from(now.saturating_sub(at)) < RESIDENT_FOR.as_millis() / STEP_MS,
        };
        let touched = self.within(seen_at, &touched);
        !touched.is_empty() && touched.iter().all(is_recent)
    }

    fn steps(&self, now: Instant) -> Option<u32> {
        u32::try_from(now.saturating_duration_since(self.since).as_millis() / STEP_MS).ok()
    }

    fn within<'a>(&self, seen_at: &'a [AtomicU32], portions: &Range<u64>) -> &'a [AtomicU32] {
        let at = |portion: u64| usize::try_from(portion).unwrap_or(usize::MAX).min(seen_at.len());
        seen_at.get(at(portions.start)..at(portions.end)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = PORTION_BYTES;

    #[test]
    fn whole_portions_that_were_seen_are_remembered_for_some_seconds() {
        let opened = Instant::now();
        let residency = Residency::new(10 * MIB, opened);
        assert!(!residency.was_seen(0, MIB, opened));
        residency.saw(2 * MIB, 2 * MIB, opened);
        assert!(residency.was_seen(2 * MIB, 2 * MIB, opened));
        assert!(residency.was_seen(2 * MIB + 5, MIB, opened + Duration::from_millis(4999)));
        assert!(!residency.was_seen(2 * MIB, 2 * MIB + 1, opened), "a byte of the next one");
        assert!(!residency.was_seen(2 * MIB - 1, 10, opened), "a byte of the one before");
        assert!(!residency.was_seen(2 * MIB, MIB, opened + Duration::from_secs(5)));
    }

    #[test]
    fn a_part_of_a_portion_says_nothing_of_the_rest() {
        let opened = Instant::now();
        let residency = Residency::new(10 * MIB, opened);
        residency.saw(MIB + 1, 2 * MIB, opened);
        assert!(residency.was_seen(2 * MIB, MIB, opened));
        assert!(!residency.was_seen(MIB + 1, 1, opened));
        assert!(!residency.was_seen(3 * MIB, 1, opened));
    }

    #[test]
    fn the_last_portion_is_whole_where_the_file_ends() {
        let opened = Instant::now();
        let residency = Residency::new(2 * MIB + 100, opened);
        residency.saw(2 * MIB, 100, opened);
        assert!(residency.was_seen(2 * MIB + 50, 50, opened));
        let small = Residency::new(100, opened);
        small.saw(1, 99, opened);
        assert!(!small.was_seen(1, 99, opened));
        small.saw(0, 100, opened);
        assert!(small.was_seen(1, 99, opened));
    }

    #[test]
    fn a_file_that_is_open_for_a_hundred_days_is_remembered_as_ever() {
        let opened = Instant::now();
        let residency = Residency::new(MIB, opened);
        let later = opened + Duration::from_secs(100 * 24 * 3600);
        residency.saw(0, MIB, later);
        assert!(residency.was_seen(0, MIB, later + Duration::from_millis(4990)));
        assert!(!residency.was_seen(0, MIB, later + Duration::from_secs(5)));
    }

    #[test]
    fn of_a_huge_file_nothing_is_remembered() {
        let opened = Instant::now();
        let residency = Residency::new(PORTIONS_MAX * MIB + 1, opened);
        residency.saw(0, MIB, opened);
        assert!(!residency.was_seen(0, MIB, opened));
        assert!(residency.seen_at.get().is_none());
    }
}
