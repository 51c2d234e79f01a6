use rustix::fd::AsFd;
use rustix::fs::{fdatasync, fsync};

use crate::StorageError;

/// What has to be on the disk before a change is reported as done, should the machine lose its power then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Durability {
    /// Nothing: the kernel writes when it likes. Other processes see every change whole all the same.
    None,
    /// The content. The directory's entry may be lost, and with it the change as a whole.
    #[default]
    Data,
    /// The content, what is kept beside it, and the directory's entry.
    Full,
}

impl Durability {
    /// For what is removed elsewhere as soon as it is here: with [`Data`](Self::Data) the removal may reach the disk before the
    /// new entry does, and both would be lost.
    pub(crate) fn of_an_only_copy(self) -> Self {
        if self == Self::None { Self::None } else { Self::Full }
    }

    /// Sees to a file.
    pub(crate) fn sync_file(self, file: impl AsFd) -> Result<(), StorageError> {
        let done = match self {
            Self::None => Ok(()),
            Self::Data => fdatasync(file),
            Self::Full => fsync(file),
        };
        done.map_err(StorageError::from_errno("fsync"))
    }

    /// Sees to the entries of a directory.
    pub(crate) fn sync_directory(self, directory: impl AsFd) -> Result<(), StorageError> {
        if self < Self::Full { Ok(()) } else { fsync(directory).map_err(StorageError::from_errno("fsync")) }
    }
}
