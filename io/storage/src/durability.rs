//! Levels of durability, and the syncs that they need.

use rustix::fd::AsFd;
use rustix::fs::{fdatasync, fsync};

use crate::StorageError;

/// Data that must be on the disk before a change is reported as done, in case the machine loses power.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Durability {
    /// Nothing: the kernel writes at its own time. Other processes still see only whole changes.
    None,
    /// The content. A power failure may lose the directory entry, and with it the whole change.
    #[default]
    Data,
    /// The content, its notes, and the directory entry.
    Full,
}

impl Durability {
    /// Returns the durability for a copy whose source is removed. With [`Data`](Self::Data), the removal may
    /// reach the disk before the new entry does, and a power failure would lose both.
    pub(crate) fn of_an_only_copy(self) -> Self {
        if self == Self::None { Self::None } else { Self::Full }
    }

    /// Syncs a file as far as needed.
    pub(crate) fn sync_file(self, file: impl AsFd) -> Result<(), StorageError> {
        let done = match self {
            Self::None => Ok(()),
            Self::Data => fdatasync(file),
            Self::Full => fsync(file),
        };
        done.map_err(StorageError::from_errno("fsync"))
    }

    /// Syncs the entries of a directory if needed.
    pub(crate) fn sync_directory(self, directory: impl AsFd) -> Result<(), StorageError> {
        if self < Self::Full { Ok(()) } else { fsync(directory).map_err(StorageError::from_errno("fsync")) }
    }
}
