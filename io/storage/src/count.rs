//! Counting what the files of a tree take up, a few at a time.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::Dir;
use weir_dav::path::DavPath;

use crate::ledger::Tally;
use crate::metadata::Found;
use crate::remove::{DEPTH_MAX, open_directory, survey_found};
use crate::{Ledger, StorageError, Timestamp, Tree, notes, reserved};

/// A count that is under way. Its directories are open, so that nothing that is moved leads it out of the tree.
#[derive(Debug)]
pub struct Count {
    tree: Arc<Tree>,
    /// The directory that is being read last, within those before it.
    open: Vec<Reading>,
    tally: Tally,
    /// What has come into being after this is not in the tally: whoever made it has said so, or it is for the next count.
    began: Option<Timestamp>,
    /// Which one it is, of those that nodes tell each other of.
    turn: u64,
    /// It is the tree's to write in: leftovers of uploads are removed on the way, and other nodes go by this count, too.
    writable: bool,
}

#[derive(Debug)]
struct Reading {
    directory: Dir,
    /// It is where the notes of others are, of which only dead properties count.
    is_side: bool,
}

impl Count {
    /// Begins. Two counts at a time would both be wrong. Blocks, like every call of it.
    ///
    /// # Errors
    /// [`StorageError::Busy`]: another node is at one, and tells the result.
    pub fn begin(tree: &Arc<Tree>, writable: bool) -> Result<Self, StorageError> {
        let shared = if writable { tree.begin_shared_count() } else { Err(StorageError::Refused) };
        let (began, turn) = match shared {
            Err(StorageError::Busy) => return Err(StorageError::Busy),
            Ok(begun) => begun,
            // Nobody else can be told.
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

    /// Looks at up to `entries_max` more members of directories. True: that was all, and the account is up to date.
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
                // The rest of it cannot be read: one bad directory must not keep all others from being counted.
                Some(Err(_)) => drop(self.open.pop()),
            }
        }
        Ok(false)
    }

    /// Takes a member into account; one that is gone, cannot be read or is not for this process is left out.
    fn member(&mut self, name: &[u8]) {
        let Some(Reading { directory, is_side }) = self.open.last() else { return };
        // What has come of an upload takes up room before it is a file, and so do dead properties.
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

    /// Returns whether it came after the count began. Where a file system does not tell, it may be counted twice until the next time.
    fn is_young(&self, found: &Found) -> bool {
        self.began.zip(found.created()).is_some_and(|(began, created)| created > began)
    }
}

impl Drop for Count {
    fn drop(&mut self) {
        // One that came to its end is over anyway.
        self.tree.ledger().give_up_count(self.turn);
    }
}

impl Tree {
    /// The account of what its files take up.
    pub fn ledger(&self) -> &Arc<Ledger> {
        &self.ledger
    }

    /// What the members of a directory, and everything below it, take up. Blocks.
    pub(crate) fn tally(&self, directory: OwnedFd) -> Tally {
        let (mut tally, began) = (Tally::default(), self.ledger.began());
        // What has come of uploads is in the account, too, and so are dead properties.
        let is_hidden = |name: &[u8]| {
            reserved::is_reserved(name)
                && !name.starts_with(reserved::PARTIAL.as_bytes())
                && name != notes::SIDE
        };
        // What cannot be read is for the next count.
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

    /// What a member of a directory takes up, with its dead properties, if it is a file.
    pub(crate) fn tally_of_file(&self, home: &OwnedFd, name: &[u8], found: &Found) -> Tally {
        let tally = Tally::of(found, self.ledger.began());
        match found.is_directory() {
            true => Tally::default(),
            false => tally.with_properties(notes::properties_of_file(home, name, found.inode())),
        }
    }
}

/// In seconds since 1970.
pub(crate) fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
