//! The reserved directory in the root, which all nodes share: locks, journals, and files whose locks separate
//! writers.

use rustix::fd::OwnedFd;
use rustix::fs::{FlockOperation, Mode, OFlags, flock, mkdirat, openat};
use rustix::io::Errno;

use crate::acting::as_self;
use crate::tree_walk::open_directory;
use crate::{StorageError, Tree, reserved};

/// A lock that is held exclusively by one writer that reads, changes and writes something, or shared by
/// readers that need it unchanged. Released when it is dropped or its process dies.
#[derive(Debug)]
pub(crate) struct Guard {
    _file: OwnedFd,
}

impl Tree {
    /// Opens the reserved directory, if it exists.
    pub(crate) fn store(&self) -> Result<Option<OwnedFd>, StorageError> {
        match as_self(|| open_directory(self.root(), reserved::STORE.as_bytes())) {
            Ok(directory) => Ok(Some(directory)),
            Err(Errno::NOENT) => Ok(None),
            Err(errno) => Err(StorageError::from_errno("open")(errno)),
        }
    }

    /// Opens the reserved directory; creates it if necessary.
    pub(crate) fn make_store(&self) -> Result<OwnedFd, StorageError> {
        as_self(|| {
            match mkdirat(self.root(), reserved::STORE, Mode::RWXU) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(StorageError::from_errno("mkdir")(errno)),
            }
            open_directory(self.root(), reserved::STORE.as_bytes()).map_err(StorageError::from_errno("open"))
        })
    }

    /// Waits until no process, here or on another node, holds this guard in a conflicting mode.
    ///
    /// All callers queue on a second lock, and the first in the queue waits for the conflicting holders.
    /// Without the queue, a sequence of shared holders could keep out an exclusive one forever.
    ///
    /// A holder must not request the same guard again: another process may be first in the queue, and both
    /// would wait.
    pub(crate) fn guard(store: &OwnedFd, name: &str, shared: bool) -> Result<Guard, StorageError> {
        // The queue is short, because its first member only waits.
        let _turn = lock(store, &format!("{name}.line"), FlockOperation::LockExclusive, shared)?;
        let operation = if shared { FlockOperation::LockShared } else { FlockOperation::LockExclusive };
        lock(store, name, operation, shared)
    }
}

impl Tree {
    /// Waits for an exclusive lock without queueing for it, for short steps. Goes on without a lock if the
    /// file system has none.
    pub(crate) fn lock_alone(store: &OwnedFd, name: &str) -> Result<Guard, StorageError> {
        lock(store, name, FlockOperation::LockExclusive, true)
    }
}

/// Waits for a lock on a file of the reserved directory. `may_lack`: true to go on without a lock if the file
/// system has none.
fn lock(
    store: &OwnedFd,
    name: &str,
    operation: FlockOperation,
    may_lack: bool,
) -> Result<Guard, StorageError> {
    // Opens for writing, because NFS emulates these locks with locks that need it.
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = as_self(|| openat(store, name, flags, Mode::RUSR | Mode::WUSR))
        .map_err(StorageError::from_errno("open"))?;
    loop {
        match flock(&file, operation) {
            Ok(()) => return Ok(Guard { _file: file }),
            Err(Errno::INTR) => {}
            // Some network file systems are mounted without such locks. A reader goes on. A writer must not,
            // because another node may write at the same time.
            Err(Errno::NOSYS | Errno::OPNOTSUPP | Errno::NOLCK) if may_lack => {
                return Ok(Guard { _file: file });
            }
            Err(errno) => return Err(StorageError::from_errno("flock")(errno)),
        }
    }
}
