//! One of several processes acts for a fleet. On one machine by a lock on a file, which the kernel lets go of when its holder ends,
//! however it ends; between machines, where locks on network file systems may be given to two after an outage, by a key in a Redis or
//! an etcd that ends by itself when its holder does not renew it.
//!
//! Every holder has a higher epoch than those before it; what it writes carries the epoch. Who cannot renew a lease in a store stops
//! acting before the store gives it to another one, by a clock that does not go back; of one that cannot be reached nobody gets any.

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

/// The right to act, until it is dropped.
#[derive(Debug)]
pub struct Lease {
    hold: Hold,
    epoch: u64,
    follows_another: bool,
    /// Where it is to be written down that this one has led; `None` = it is.
    unwritten: RefCell<Option<PathBuf>>,
}

#[derive(Debug)]
enum Hold {
    File(FileLock),
    Store(Keeper),
}

/// Why there is no lease.
#[derive(Debug)]
pub enum LeaseError {
    /// Another process holds it: try again later.
    Held,
    /// The same, and where, and who it is.
    HeldBy {
        /// The key in the store.
        place: String,
        /// Host and process.
        holder: String,
    },
    /// The lock was held and is not what counts any more: somebody has removed its file. Nothing may be done under it.
    Lost(PathBuf),
    /// It was held, and its time is over or it is another's. Says where, and why. Nothing may be done under it.
    Lapsed(String),
    /// The store cannot be asked, or refuses. Says which, and why.
    Unreachable(String),
    /// The lock cannot be had. Names the file.
    Io(io::Error),
}

impl Lease {
    /// Takes the lease whose lock is the file `path`, if nobody holds it. Does not wait.
    pub fn acquire(path: &Path) -> Result<Self, LeaseError> {
        let (lock, epoch) = FileLock::acquire(path)?;
        Ok(Self { hold: Hold::File(lock), epoch, follows_another: false, unwritten: RefCell::default() })
    }

    /// Which holder this is, counted from 1.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Whether somebody with another journal may have held it since this fleet's directory was written: what that one has begun is
    /// not known here, and what is open here may be done already.
    pub fn follows_another(&self) -> bool {
        self.follows_another
    }

    /// What the one before has begun is known by now: whoever leads next need not wait for it again. Until this is said, a next leader of the
    /// same directory takes itself for one that follows another, whatever ends this one.
    pub(crate) fn caught_up(&self) -> io::Result<()> {
        let mut unwritten = self.unwritten.borrow_mut();
        if let Some(path) = unwritten.as_deref() {
            epoch::write(path, self.epoch)?;
            *unwritten = None;
        }
        Ok(())
    }

    /// Whether it still holds. To be asked before each action.
    pub fn check(&self) -> Result<(), LeaseError> {
        match &self.hold {
            Hold::File(lock) => lock.check(),
            Hold::Store(keeper) => keeper.check(),
        }
    }

    /// What is wrong with it although it holds.
    pub fn trouble(&self) -> Option<String> {
        match &self.hold {
            Hold::File(_) => None,
            Hold::Store(keeper) => keeper.trouble(),
        }
    }
}

impl LeaseError {
    /// Whether all is well: somebody else leads.
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
