//! Leases, by which one of several processes acts for a fleet.
//!
//! - On one machine, a lease is a lock on a file. The kernel releases it when the holder's process ends for
//!   any reason.
//! - Between machines, a lease is a key in Redis or etcd that expires unless its holder renews it. Locks on
//!   network file systems are unsuitable, because two clients may get one after an outage.
//!
//! Each holder has a higher epoch than all before it, and its records carry the epoch. A holder that cannot
//! renew its lease stops acting before the store grants it to another process; a monotonic clock measures
//! this time. While a store is unreachable, no process gets a lease.

mod candidate;
mod clock;
mod demand;
mod epoch;
mod etcd;
mod file;
mod holder;
mod keeper;
mod key;
mod redis;
mod shared;
mod store;

use std::cell::RefCell;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

pub use candidate::Candidate;
pub use demand::SharedDemand;
pub use shared::{Heard, SharedWish};

use self::file::FileLock;
use self::keeper::Keeper;

/// The right to act for a fleet, until it is dropped.
#[derive(Debug)]
pub struct Lease {
    hold: Hold,
    epoch: u64,
    follows_another: bool,
    /// File in which to record that this process has led; `None` = already recorded.
    unwritten: RefCell<Option<PathBuf>>,
}

#[derive(Debug)]
enum Hold {
    File(FileLock),
    Store(Keeper),
}

/// Reason why there is no lease.
#[derive(Debug)]
pub enum LeaseError {
    /// Another process holds the lease; retry later.
    Held,
    /// Another process holds the lease in a store.
    HeldBy {
        /// Key in the store.
        place: String,
        /// Host and process of the holder.
        holder: String,
    },
    /// The lock file was removed, so the lock is no longer valid. No action is permitted.
    Lost(PathBuf),
    /// The lease in a store has expired, or another process holds it. No action is permitted. The text gives
    /// the key and the cause.
    Lapsed(String),
    /// The store is unreachable or refuses the request. The text gives the store and the cause.
    Unreachable(String),
    /// The lock cannot be acquired. The text names the file.
    Io(io::Error),
}

impl Lease {
    /// Acquires the lease of the lock file `path` if it is free. Does not wait.
    pub fn acquire(path: &Path) -> Result<Self, LeaseError> {
        let (lock, epoch) = FileLock::acquire(path)?;
        Ok(Self { hold: Hold::File(lock), epoch, follows_another: false, unwritten: RefCell::default() })
    }

    /// Returns the epoch of the lease: holders are numbered from 1.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Returns true if a process with another journal may have held the lease since this fleet's directory
    /// was last written. Its actions are then unknown here, and actions open here may already be done.
    pub fn follows_another(&self) -> bool {
        self.follows_another
    }

    /// Records that the actions of the former leader are known, so that the next leader of the same directory
    /// need not wait for them. Until then, each next leader assumes that it follows another.
    pub(crate) fn caught_up(&self) -> io::Result<()> {
        let mut unwritten = self.unwritten.borrow_mut();
        if let Some(path) = unwritten.as_deref() {
            epoch::write(path, self.epoch)?;
            *unwritten = None;
        }
        Ok(())
    }

    /// Checks that the lease still holds. Call it before each action.
    pub fn check(&self) -> Result<(), LeaseError> {
        match &self.hold {
            Hold::File(lock) => lock.check(),
            Hold::Store(keeper) => keeper.check(),
        }
    }

    /// Returns a problem with a lease that still holds.
    pub fn trouble(&self) -> Option<String> {
        match &self.hold {
            Hold::File(_) => None,
            Hold::Store(keeper) => keeper.trouble(),
        }
    }
}

impl LeaseError {
    /// Returns true if another process leads, which is not an error.
    pub fn is_held(&self) -> bool {
        matches!(self, Self::Held | Self::HeldBy { .. })
    }
}

impl fmt::Display for LeaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Held => f.write_str("another process acts for this fleet"),
            Self::HeldBy { place, holder } => {
                write!(f, "{place}: another process acts for this fleet: {holder}")
            }
            Self::Lost(path) => write!(f, "{}: the lock was removed while it was held", path.display()),
            Self::Lapsed(why) => f.write_str(why),
            Self::Unreachable(why) => write!(f, "nobody can be made to lead: {why}"),
            Self::Io(cause) => write!(f, "{cause}"),
        }
    }
}

impl std::error::Error for LeaseError {}
