//! How much of a large body its source should have before it wakes us.

use std::ops::RangeInclusive;

/// While so much of a body is still to come, and comes fast, its source wakes us for every [`BULK_BATCH`] only, not for every
/// segment: fewer calls and fewer acknowledgements. A small body, and the end of a large one, is passed on as it comes.
pub(super) const BULK_MIN: u64 = 512 * 1024;
pub(super) const BULK_BATCH: u64 = 256 * 1024;
/// A source that has had so much ready at a time will not keep us waiting for a batch, and if it is twice what it was to wake us for, not
/// for its rest either. Over a slow link the first batch would cost more time than all of its wake-ups.
pub(super) const FAST_READ: u64 = 128 * 1024;
/// The rest of a body is one batch if it is so much: less is a segment or two, more would keep the sink waiting.
pub(super) const REST: RangeInclusive<u64> = 64 * 1024..=1024 * 1024;
/// As in the beginning: of every byte.
pub(super) const NO_BATCH: u64 = 1;

/// How much of what is `left` of a body should be there before it is worth a call, when `last_read` was there the last time from a source
/// that was to wake us for `batch`.
pub(super) fn next_batch(left: Option<u64>, last_read: u64, batch: u64) -> u64 {
    let Some(left) = left else { return NO_BATCH };
    if REST.contains(&left) && last_read >= FAST_READ.max(2 * batch) {
        left
    } else if left >= BULK_MIN && last_read >= FAST_READ {
        BULK_BATCH
    } else {
        NO_BATCH
    }
}
