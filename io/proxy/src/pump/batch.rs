//! Chooses how much of a large body its source should have before it wakes the task.

use std::ops::RangeInclusive;

/// While at least this much of a body is still to come, and comes fast, its source wakes the task only for
/// every [`BULK_BATCH`] instead of every segment. This saves calls and acknowledgements. Small bodies, and
/// the ends of large ones, are forwarded as they arrive.
pub(super) const BULK_MIN: u64 = 512 * 1024;
pub(super) const BULK_BATCH: u64 = 256 * 1024;
/// Size of a read that shows a fast source, for which waiting for a batch takes little time. If the read is
/// also twice the current batch, the task may wait for the rest of the body too. Over a slow link, the first
/// batch would cost more time than all its wake-ups.
pub(super) const FAST_READ: u64 = 128 * 1024;
/// Sizes of a body's rest that is read as one batch: less is a segment or two, more would keep the sink
/// waiting.
pub(super) const REST: RangeInclusive<u64> = 64 * 1024..=1024 * 1024;
/// Initial value: the source wakes the task for every byte.
pub(super) const NO_BATCH: u64 = 1;

/// Returns how much of the `left` bytes of a body should be there before a wake-up. `last_read`: bytes of the
/// last read; `batch`: the present value.
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
