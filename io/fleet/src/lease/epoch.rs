//! A number in a file: which holder of a lease there was last.

use std::io;
use std::path::Path;

use crate::storage;

/// An epoch has at most twenty digits.
const BYTES_MAX: u64 = 32;

/// 0 = there was none.
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
