//! How nodes that share a directory tell each other what is in it: by a file in its reserved directory.

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

/// What was told, while nobody else can change it.
struct Open {
    store: OwnedFd,
    before: Shared,
    shared: Shared,
    _guard: Guard,
}

impl Tree {
    /// Takes over what this or another node has counted last. Blocks.
    pub fn recall_count(&self) -> Result<(), StorageError> {
        match self.store()? {
            // Not to make one where nothing is ever written.
            None => Ok(()),
            Some(store) => {
                let mut shared = read(&store)?;
                self.ledger().recall(&mut shared, &self.key(), now_s());
                Ok(())
            }
        }
    }

    /// Hears what other nodes that share the directory have changed, and tells them of what was changed here. Blocks.
    pub fn share_usage(&self) -> Result<(), StorageError> {
        self.share_account(0)
    }

    /// The same; and promises so much room if all nodes together have it.
    ///
    /// # Errors
    /// [`StorageError::OverQuota`] among them.
    pub(crate) fn share_account(&self, more: u64) -> Result<(), StorageError> {
        as_self(|| {
            let mut open = self.open_account()?;
            let taken = self.ledger().exchange(&mut open.shared, &self.key(), more, now_s());
            // Not told is promised all the same: an upload does not fail for that.
            let _ = self.tell(&open);
            taken
        })
    }

    /// From now on what is changed is remembered, here and by other nodes, for a count that begins now. Tells when that is by the
    /// clock of the file system, and which count it is.
    ///
    /// # Errors
    /// [`StorageError::Busy`]: another node is at a count, which is for this one, too.
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

    /// Goes by what was counted, here and on other nodes.
    pub(crate) fn end_shared_count(&self, tally: Tally) -> Result<(), StorageError> {
        as_self(|| {
            let mut open = self.open_account()?;
            self.ledger().conclude(&mut open.shared, tally, &self.key(), now_s());
            // What others could not be told now they are told with the next change.
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
            // What a loss of power takes is counted again.
            swap_file(&open.store, FILE, &text)?;
        }
        self.ledger().was_told(&open.shared, &key);
        Ok(())
    }

    /// Who this is among those who tell each other: a process may have several trees of one directory.
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
    // A damaged one is none: it is counted again.
    Ok(serde_json::from_slice(&read_all(&file)?).unwrap_or_default())
}

/// The time by the clock of the file system, which need not be ours.
fn clock(store: &OwnedFd, name: &str) -> Result<Timestamp, StorageError> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file =
        openat(store, name, flags, Mode::RUSR | Mode::WUSR).map_err(StorageError::from_errno("open"))?;
    write_all(&file, b"\n", 0)?;
    Ok(Found::of(&file)?.changed())
}
