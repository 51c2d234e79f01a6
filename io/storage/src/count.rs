//! Count of the space that a tree's files use, a few members at a time.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::Dir;
use weir_dav::path::DavPath;

use crate::ledger::Tally;
use crate::metadata::Found;
use crate::tree_walk::{DEPTH_MAX, open_directory, survey_found};
use crate::{Ledger, StorageError, Timestamp, Tree, notes, reserved};

/// A running count. It keeps its directories open, so that a moved directory cannot lead it out of the tree.
#[derive(Debug)]
pub struct Count {
    tree: Arc<Tree>,
    /// Open directories from the outermost to the one that is being read.
    open: Vec<Reading>,
    tally: Tally,
    /// Start of the count. The tally leaves out what was created later: its creator has reported it, or the
    /// next count finds it.
    began: Option<Timestamp>,
    /// Number of this count among the counts that nodes share; 0 = not shared.
    turn: u64,
    /// Set when the count may write in the tree: it removes leftovers of uploads, and other nodes use its
    /// result.
    writable: bool,
}

#[derive(Debug)]
struct Reading {
    directory: Dir,
    /// Set for a side store, of which only the dead properties count.
    is_side: bool,
}

impl Count {
    /// Begins a count. Only one may run at a time, because two would both be wrong. Blocks, as all methods of
    /// [`Count`] do.
    ///
    /// # Errors
    /// [`StorageError::Busy`] if another node is counting; it shares its result.
    pub fn begin(tree: &Arc<Tree>, writable: bool) -> Result<Self, StorageError> {
        let shared = if writable { tree.begin_shared_count() } else { Err(StorageError::Refused) };
        let (began, turn) = match shared {
            Err(StorageError::Busy) => return Err(StorageError::Busy),
            Ok(begun) => begun,
            // The count cannot be shared with other nodes.
            Err(_) => {
                tree.ledger().begin_count();
                (None, 0)
            }
        };
        let (tree, tally) = (Arc::clone(tree), Tally::default());
        let mut count = Self { tree, open: Vec::new(), tally, began, turn, writable };
        let root = count.tree.resolve_directory(&DavPath::root())?;
        count.tally = Tally::properties(notes::properties_in_attribute(root.as_fd(), b"."));
        let directory = Dir::new(root).map_err(StorageError::from_errno("open"))?;
        count.open.push(Reading { directory, is_side: false });
        Ok(count)
    }

    /// Looks at up to `entries_max` more directory members. Returns true if none are left and the account is
    /// up to date.
    pub fn step(&mut self, entries_max: usize) -> Result<bool, StorageError> {
        for _ in 0..entries_max {
            let Some(reading) = self.open.last_mut() else {
                if !self.writable || self.tree.end_shared_count(self.tally).is_err() {
                    self.tree.ledger().counted(self.tally, now_s());
                }
                return Ok(true);
            };
            match reading.directory.read() {
                None => drop(self.open.pop()),
                Some(Ok(read)) => self.member(read.file_name().to_bytes()),
                // Skips the rest of this directory, so that one bad directory does not stop the count of all
                // others.
                Some(Err(_)) => drop(self.open.pop()),
            }
        }
        Ok(false)
    }

    /// Adds a member to the tally. Leaves out members that are gone, unreadable or reserved.
    fn member(&mut self, name: &[u8]) {
        let Some(Reading { directory, is_side }) = self.open.last() else { return };
        // Unfinished uploads and dead properties use space, so they count, too.
        let is_part = name.starts_with(reserved::PARTIAL.as_bytes());
        let leads_aside = name == notes::SIDE;
        if matches!(name, b"." | b"..") || reserved::is_reserved(name) && !is_part && !leads_aside {
            return;
        }
        let Ok(home) = directory.fd() else { return };
        let Ok(found) = Found::in_directory(home, name) else { return };
        if *is_side {
            if notes::is_properties(name) {
                self.tally.join(Tally::of(&found, None).part(u64::MAX));
            }
            return;
        }
        let properties = Tally::properties(notes::properties_in_attribute(home, name));
        if found.is_directory() && self.open.len() < DEPTH_MAX {
            let inner = open_directory(home, name).and_then(Dir::new);
            if !leads_aside && !self.is_young(&found) {
                self.tally.join(Tally::of(&found, None));
                self.tally.join(properties);
            }
            if let Ok(directory) = inner {
                self.open.push(Reading { directory, is_side: leads_aside });
            }
            return;
        }
        if is_part && self.writable && self.tree.remove_orphan(home, name, &found) {
            return;
        }
        if !self.is_young(&found) {
            let tally = Tally::of(&found, None);
            self.tally.join(if is_part { tally.part(u64::MAX) } else { tally });
            self.tally.join(properties);
        }
    }

    /// Returns whether something was created after the count began. If the file system does not record
    /// creation times, an entry may count twice until the next count.
    fn is_young(&self, found: &Found) -> bool {
        self.began.zip(found.created()).is_some_and(|(began, created)| created > began)
    }
}

impl Drop for Count {
    fn drop(&mut self) {
        // After a complete count this has no effect.
        self.tree.ledger().give_up_count(self.turn);
    }
}

impl Tree {
    /// Returns the account of the space that the tree's files use.
    pub fn ledger(&self) -> &Arc<Ledger> {
        &self.ledger
    }

    /// Returns the space that everything below a directory uses. Blocks.
    pub(crate) fn tally(&self, directory: OwnedFd) -> Tally {
        let (mut tally, began) = (Tally::default(), self.ledger.began());
        // Unfinished uploads and dead properties are in the account, so they count here.
        let is_hidden = |name: &[u8]| {
            reserved::is_reserved(name)
                && !name.starts_with(reserved::PARTIAL.as_bytes())
                && name != notes::SIDE
        };
        // Members that cannot be read are left to the next count.
        let _ = survey_found(directory, &DavPath::root(), &is_hidden, &mut |path, found, home| {
            let mut names = path.segments().rev();
            let name = names.next().unwrap_or_default();
            let one = Tally::of(found, began);
            if names.next() == Some(notes::SIDE) {
                if notes::is_properties(name) {
                    tally.join(one.part(u64::MAX));
                }
            } else if name != notes::SIDE {
                let properties = notes::properties_in_attribute(home.as_fd(), name);
                let is_part = reserved::is_reserved(name);
                tally.join(if is_part { one.part(u64::MAX) } else { one.with_properties(properties) });
            }
            Ok(())
        });
        tally
    }

    /// Returns the space that a directory's member uses, with its dead properties, if it is a file.
    pub(crate) fn tally_of_file(&self, home: &OwnedFd, name: &[u8], found: &Found) -> Tally {
        let tally = Tally::of(found, self.ledger.began());
        match found.is_directory() {
            true => Tally::default(),
            false => tally.with_properties(notes::properties_of_file(home, name, found.inode())),
        }
    }
}

/// Returns the current time in seconds since 1970.
pub(crate) fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
