//! One of several processes acts for a fleet: on one machine, by a lock that the kernel lets go of when its holder ends,
//! however it ends.
//!
//! Every holder has a higher epoch than those before it; what it writes carries the epoch. Between machines this does not hold:
//! locks on network file systems may be given to two after an outage.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use crate::storage;

/// The right to act, until it is dropped.
#[derive(Debug)]
pub struct Lease {
    path: PathBuf,
    file: File,
    epoch: u64,
}

/// Why there is no lease.
#[derive(Debug)]
pub enum LeaseError {
    /// Another process holds it: try again later.
    Held,
    /// The lock was held and is not what counts any more: somebody has removed its file. Nothing may be done under it.
    Lost(PathBuf),
    /// The lock cannot be had. Names the file.
    Io(io::Error),
}

/// An epoch has at most twenty digits.
const BYTES_MAX: u64 = 32;

impl Lease {
    /// Takes the lease whose lock is the file `path`, if nobody holds it. Does not wait.
    pub fn acquire(path: &Path) -> Result<Self, LeaseError> {
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
        // The lock is on the file, and the epoch beside it: the one is never replaced, the other always as a whole.
        let epochs = path.with_extension("epoch");
        let last = storage::read(&epochs, BYTES_MAX).map_err(LeaseError::Io)?.unwrap_or_default();
        let last = String::from_utf8_lossy(&last);
        let last = match last.trim() {
            "" => 0,
            digits => digits.parse::<u64>().map_err(|_| {
                LeaseError::Io(io::Error::other(format!("{}: holds no number", epochs.display())))
            })?,
        };
        let epoch = last.saturating_add(1);
        storage::replace(&epochs, format!("{epoch}\n").as_bytes()).map_err(LeaseError::Io)?;
        let lease = Self { path: path.to_owned(), file, epoch };
        // Removed between opening and locking: others lock another file by now.
        lease.check()?;
        Ok(lease)
    }

    /// Which holder this is, counted from 1.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Whether it still holds. To be asked before each action.
    pub fn check(&self) -> Result<(), LeaseError> {
        let lost = || LeaseError::Lost(self.path.clone());
        let there = std::fs::metadata(&self.path).map_err(|_| lost())?;
        let held = self.file.metadata().map_err(|_| lost())?;
        if (there.dev(), there.ino()) == (held.dev(), held.ino()) { Ok(()) } else { Err(lost()) }
    }
}

impl fmt::Display for LeaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Held => f.write_str("another process acts for this fleet"),
            Self::Lost(path) => write!(f, "{}: the lock was removed while it was held", path.display()),
            Self::Io(cause) => write!(f, "{cause}"),
        }
    }
}

impl std::error::Error for LeaseError {}
