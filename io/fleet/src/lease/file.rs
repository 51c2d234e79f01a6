//! Leases by a lock on a file.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use super::LeaseError;
use super::epoch;
use crate::storage;

/// Lock on a file. The kernel releases it when the holder's process ends for any reason.
#[derive(Debug)]
pub(super) struct FileLock {
    path: PathBuf,
    file: File,
}

impl FileLock {
    /// Acquires the lock if it is free, and returns it with the new epoch.
    pub(super) fn acquire(path: &Path) -> Result<(Self, u64), LeaseError> {
        let failed = |cause: io::Error| LeaseError::Io(storage::named(path, &cause));
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path)
            .map_err(failed)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Err(LeaseError::Held),
            Err(cause) => return Err(failed(cause.into())),
        }
        // The lock file is never replaced. The separate epoch file is replaced atomically.
        let epochs = path.with_extension("epoch");
        let epoch = epoch::read(&epochs).map_err(LeaseError::Io)?.saturating_add(1);
        epoch::write(&epochs, epoch).map_err(LeaseError::Io)?;
        let lock = Self { path: path.to_owned(), file };
        // If the file was removed between opening and locking, other processes lock another file.
        lock.check()?;
        Ok((lock, epoch))
    }

    pub(super) fn check(&self) -> Result<(), LeaseError> {
        let lost = || LeaseError::Lost(self.path.clone());
        let there = std::fs::metadata(&self.path).map_err(|_| lost())?;
        let held = self.file.metadata().map_err(|_| lost())?;
        if (there.dev(), there.ino()) == (held.dev(), held.ino()) { Ok(()) } else { Err(lost()) }
    }
}
