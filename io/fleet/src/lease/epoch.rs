//! File with the epoch of the last holder of a lease.

use std::io;
use std::path::Path;

use crate::storage;

/// Maximum size of the file; an epoch has at most twenty digits.
const BYTES_MAX: u64 = 32;

/// Reads the epoch; 0 = no holder yet.
pub(super) fn read(path: &Path) -> io::Result<u64> {
    let last = storage::read(path, BYTES_MAX)?.unwrap_or_default();
    match String::from_utf8_lossy(&last).trim() {
        "" => Ok(0),
        digits => {
            digits.parse().map_err(|_| io::Error::other(format!("{}: holds no number", path.display())))
        }
    }
}

pub(super) fn write(path: &Path, epoch: u64) -> io::Result<()> {
    storage::replace(path, format!("{epoch}\n").as_bytes())
}
