//! Exchange of accounts between nodes that share a directory, through a file in its reserved directory.

use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;

use crate::acting::as_self;
use crate::count::now_s;
use crate::ledger::{Shared, Tally};
use crate::metadata::Found;
use crate::notes::{read_all, swap_file, write_all};
use crate::store::Guard;
use crate::{StorageError, Timestamp, Tree};

const FILE: &str = "usage.json";
const GUARD: &str = "usage.guard";

/// The shared account, while this process has the exclusive guard.
struct Open {
    store: OwnedFd,
    before: Shared,
    shared: Shared,
    _guard: Guard,
}

impl Tree {
    /// Takes over the last count of this or another node. Blocks.
    pub fn recall_count(&self) -> Result<(), StorageError> {
        match self.store()? {
            // Does not create the directory of a tree that is never written.
            None => Ok(()),
            Some(store) => {
                let mut shared = read(&store)?;
                self.ledger().recall(&mut shared, &self.key(), now_s());
                Ok(())
            }
        }
    }

    /// Reads the changes of other nodes that share the directory, and reports those of this one. Blocks.
    pub fn share_usage(&self) -> Result<(), StorageError> {
        self.share_account(0)
    }

    /// Exchanges accounts like [`Self::share_usage`], and promises `more` bytes if all nodes together have
    /// them left.
    ///
    /// # Errors
    /// [`StorageError::OverQuota`] if they are not left; others if the account cannot be read.
    pub(crate) fn share_account(&self, more: u64) -> Result<(), StorageError> {
        as_self(|| {
            let mut open = self.open_account()?;
            let taken = self.ledger().exchange(&mut open.shared, &self.key(), more, now_s());
            // The promise is valid even if it cannot be reported: an upload does not fail for that.
            let _ = self.tell(&open);
            taken
        })
    }

    /// Begins a count and makes all nodes record their changes from now on. Returns its start by the clock of
    /// the file system, and its number.
    ///
    /// # Errors
    /// [`StorageError::Busy`] if another node is counting; its result is valid for this node, too.
    pub(crate) fn begin_shared_count(&self) -> Result<(Option<Timestamp>, u64), StorageError> {
        as_self(|| {
            let (key, ledger) = (self.key(), self.ledger());
            let mut open = self.open_account()?;
            ledger.exchange(&mut open.shared, &key, 0, now_s())?;
            if open.shared.is_counted_by_another(&key, now_s()) {
                self.tell(&open)?;
                return Err(StorageError::Busy);
            }
            ledger.begin_count();
            let began = clock(&open.store, &format!("count~{}", self.options().node)).ok();
            let turn = open.shared.begin_count(&key, began);
            ledger.set_began(began, turn);
            ledger.exchange(&mut open.shared, &key, 0, now_s())?;
            self.tell(&open)?;
            Ok((began, turn))
        })
    }

    /// Publishes the result of a count, for this and other nodes.
    pub(crate) fn end_shared_count(&self, tally: Tally) -> Result<(), StorageError> {
        as_self(|| {
            let mut open = self.open_account()?;
            self.ledger().conclude(&mut open.shared, tally, &self.key(), now_s());
            // A result that cannot be reported now is reported with the next change.
            let _ = self.tell(&open);
            Ok(())
        })
    }

    fn open_account(&self) -> Result<Open, StorageError> {
        let store = self.make_store()?;
        let guard = Self::guard(&store, GUARD, false)?;
        let before = read(&store)?;
        Ok(Open { store, shared: before.clone(), before, _guard: guard })
    }

    fn tell(&self, open: &Open) -> Result<(), StorageError> {
        let key = self.key();
        if !open.shared.says_nothing_new(&open.before, &key) {
            let text = serde_json::to_vec(&open.shared);
            let text = text.map_err(|_| StorageError::Damaged("the count of files"))?;
            // If a power failure loses it, the next count restores it.
            swap_file(&open.store, FILE, &text)?;
        }
        self.ledger().was_told(&open.shared, &key);
        Ok(())
    }

    /// Returns the key of this tree in the shared account. A process may have several trees of one directory.
    fn key(&self) -> String {
        format!("{}~{:016x}~{}", self.options().node, self.options().boot, self.number)
    }
}

fn read(store: &OwnedFd) -> Result<Shared, StorageError> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = match openat(store, FILE, flags, Mode::empty()) {
        Err(Errno::NOENT) => return Ok(Shared::default()),
        opened => opened.map_err(StorageError::from_errno("open"))?,
    };
    // A damaged account counts as empty; the next count restores it.
    Ok(serde_json::from_slice(&read_all(&file)?).unwrap_or_default())
}

/// Returns the time by the clock of the file system, which may differ from this machine's.
fn clock(store: &OwnedFd, name: &str) -> Result<Timestamp, StorageError> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file =
        openat(store, name, flags, Mode::RUSR | Mode::WUSR).map_err(StorageError::from_errno("open"))?;
    write_all(&file, b"\n", 0)?;
    Ok(Found::of(&file)?.changed())
}
