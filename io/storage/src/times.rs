//! Modification times that clients set.

use rustix::fd::AsFd;
use rustix::fs::{Timespec, Timestamps, UTIME_OMIT, futimens};

use crate::metadata::Found;
use crate::notes::Side;
use crate::{Metadata, StorageError, checksums};

/// Sets the modification time in whole seconds since 1970. Keeps the fraction of the second, for the reason
/// given at [`Upload::set_modified_s`](crate::Upload::set_modified_s).
pub(crate) fn give_modified(fd: impl AsFd, now: &Metadata, modified_s: i64) -> Result<(), StorageError> {
    let times = Timestamps {
        last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
        last_modification: Timespec { tv_sec: modified_s, tv_nsec: now.modified.nanoseconds.into() },
    };
    futimens(fd, &times).map_err(StorageError::from_errno("futimens"))
}

/// Sets the time like [`give_modified`], and keeps stored checksums valid, because the content has not
/// changed.
pub(crate) fn give_modified_to_checked(
    fd: impl AsFd,
    now: &Metadata,
    modified_s: i64,
    side: impl Fn() -> Result<Side, StorageError>,
) -> Result<Metadata, StorageError> {
    let digests = if now.is_directory() { Vec::new() } else { checksums::stored(&fd, now, &side)? };
    give_modified(&fd, now, modified_s)?;
    let given = Found::of(&fd)?.metadata()?;
    if !digests.is_empty() {
        // A checksum that cannot be stored can be computed again.
        let _ = checksums::store(&fd, &given, &digests, &side);
    }
    Ok(given)
}
