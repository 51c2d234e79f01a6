//! The reserved directory in the root, which all nodes share: locks, journals, and what keeps writers apart.

use rustix::fd::OwnedFd;
use rustix::fs::{FlockOperation, Mode, OFlags, flock, mkdirat, openat};
use rustix::io::Errno;

use crate::acting::as_self;
use crate::remove::open_directory;
use crate::{StorageError, Tree, reserved};

/// Held by one writer of something that is read, changed and written back; or by several that only need it not to change.
/// Let go when it is dropped, or when its process dies.
#[derive(Debug)]
pub(crate) struct Guard {
    _file: OwnedFd,
}

impl Tree {
    /// The reserved directory, if it exists.
    pub(crate) fn store(&self) -> Result<Option<OwnedFd>, StorageError> {
        match as_self(|| open_directory(self.root(), reserved::STORE.as_bytes())) {
            Ok(directory) => Ok(Some(directory)),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(StorageError::from_errno("open")(errno)),
        }
    }

    /// The reserved directory, made if need be.
    pub(crate) fn make_store(&self) -> Result<OwnedFd, StorageError> {
        as_self(|| {
            match mkdirat(self.root(), reserved::STORE, Mode::RWXU) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(StorageError::from_errno("mkdir")(errno)),
            }
            open_directory(self.root(), reserved::STORE.as_bytes()).map_err(StorageError::from_errno("open"))
        })
    }

    /// Waits until nobody, here or on another node, holds this guard in a way that excludes ours.
    ///
    /// All stand in one line for it, and whoever is at its head waits until those leave who hold it in a way that excludes
    /// theirs. Without the line, those who share a guard and come one after the other would keep out for ever who needs it
    /// alone.
    ///
    /// Who holds a guard must not ask for the same one again: somebody else may be at the head of the line.
    pub(crate) fn guard(store: &OwnedFd, name: &str, shared: bool) -> Result<Guard, StorageError> {
        // The line gets shorter at once: nobody does anything at its head but wait.
        let _turn = lock(store, &format!("{name}.line"), FlockOperation::LockExclusive, shared)?;
        let operation = if shared { FlockOperation::LockShared } else { FlockOperation::LockExclusive };
        lock(store, name, operation, shared)
    }
}

impl Tree {
    /// Waits for an exclusive lock without queueing for it: for short steps. Goes on without the lock where the file system has none.
    pub(crate) fn lock_alone(store: &OwnedFd, name: &str) -> Result<Guard, StorageError> {
        lock(store, name, FlockOperation::LockExclusive, true)
    }
}

/// Waits for a lock on a file of the reserved directory. `may_lack`: goes on without it where there are no such locks.
fn lock(
    store: &OwnedFd,
    name: &str,
    operation: FlockOperation,
    may_lack: bool,
) -> Result<Guard, StorageError> {
    // For writing, because NFS turns these locks into others, which need it.
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = as_self(|| openat(store, name, flags, Mode::RUSR | Mode::WUSR))
        .map_err(StorageError::from_errno("open"))?;
    loop {
        match flock(&file, operation) {
            Ok(()) => return Ok(Guard { _file: file }),
            Err(Errno::INTR) => {}
            // Some network file systems are mounted without such locks. Whoever only relies on what is there goes on;
            // whoever changes it must not, because another node may do so at the same time.
            Err(Errno::NOSYS | Errno::OPNOTSUPP | Errno::NOLCK) if may_lack => {
                return Ok(Guard { _file: file });
            }
            Err(errno) => return Err(StorageError::from_errno("flock")(errno)),
        }
    }
}
