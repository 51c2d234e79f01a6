//! Counting what the files of a tree take up, a few at a time.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fd::OwnedFd;
use rustix::fs::{Dir, Mode, OFlags, openat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use weir_dav::path::DavPath;

use crate::ledger::Tally;
use crate::metadata::Found;
use crate::notes::{read_all, replace_file, write_all};
use crate::remove::{DEPTH_MAX, open_directory};
use crate::{Ledger, StorageError, Timestamp, Tree, reserved};

/// What was counted last, for the next start and for other nodes.
const FILE: &str = "usage.json";
const GUARD: &str = "usage.guard";

/// A count that is under way. Its directories are open, so that nothing that is moved leads it out of the tree.
#[derive(Debug)]
pub struct Count {
    tree: Arc<Tree>,
    /// The directory that is being read last, within those before it.
    open: Vec<Dir>,
    tally: Tally,
    /// What has come into being after this is not in the tally: whoever made it has said so, or it is for the next count.
    began: Option<Timestamp>,
    /// Leftovers of uploads are removed on the way.
    cleans: bool,
}

#[derive(Serialize, Deserialize)]
struct Counted {
    bytes: u64,
    files: u64,
    at_s: u64,
}

impl Count {
    /// Begins. Two counts at a time would both be wrong. Blocks, like every call of it.
    pub fn begin(tree: &Arc<Tree>, writable: bool) -> Result<Self, StorageError> {
        tree.ledger().begin_count();
        // The file system's clock, which need not be ours.
        let began = if writable { tree.touch(&format!("count~{}", tree.options().node)).ok() } else { None };
        tree.ledger().set_began(began);
        let root = tree.resolve_directory(&DavPath::root())?;
        let root = Dir::new(root).map_err(StorageError::from_errno("open"))?;
        Ok(Self {
            tree: Arc::clone(tree),
            open: vec![root],
            tally: Tally::default(),
            began,
            cleans: writable,
        })
    }

    /// Looks at up to `entries_max` more members of directories. True: that was all, and the account is up to date.
    pub fn step(&mut self, entries_max: usize) -> Result<bool, StorageError> {
        for _ in 0..entries_max {
            let Some(directory) = self.open.last_mut() else {
                self.tree.ledger().counted(self.tally, now_s());
                return Ok(true);
            };
            match directory.read() {
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
        let Some(directory) = self.open.last() else { return };
        // What has come of an upload takes up room before it is a file.
        let is_part = name.starts_with(reserved::PARTIAL.as_bytes());
        if matches!(name, b"." | b"..") || reserved::is_reserved(name) && !is_part {
            return;
        }
        let Ok(home) = directory.fd() else { return };
        let Ok(found) = Found::in_directory(home, name) else { return };
        if found.is_directory() && self.open.len() < DEPTH_MAX {
            if let Ok(inner) = open_directory(home, name).and_then(Dir::new) {
                self.open.push(inner);
            }
            return;
        }
        if is_part && self.cleans && self.tree.remove_orphan(home, name, &found) {
            return;
        }
        // Where a file system does not tell, it may be counted twice until the next time.
        let is_young = self.began.zip(found.created()).is_some_and(|(began, created)| created > began);
        if !is_young {
            let tally = Tally::of(&found, None);
            self.tally.join(if is_part { tally.part(u64::MAX) } else { tally });
        }
    }
}

impl Tree {
    /// The account of what its files take up.
    pub fn ledger(&self) -> &Arc<Ledger> {
        &self.ledger
    }

    /// Goes by what this or another node has counted last, until there is a count. Blocks.
    pub fn recall_count(&self) -> Result<(), StorageError> {
        let Some(store) = self.store()? else { return Ok(()) };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = match openat(&store, FILE, flags, Mode::empty()) {
            Err(Errno::NOENT) => return Ok(()),
            opened => opened.map_err(StorageError::from_errno("open"))?,
        };
        // A damaged one is none: it is counted again.
        if let Ok(Counted { bytes, files, at_s }) = serde_json::from_slice(&read_all(&file)?)
            && self.ledger.account().counted_s.is_none()
        {
            self.ledger.counted(Tally { bytes, files, ..Tally::default() }, at_s);
        }
        Ok(())
    }

    /// Keeps what was counted for the next start. Blocks.
    pub fn keep_count(&self) -> Result<(), StorageError> {
        let account = self.ledger.account();
        let (Some(bytes), Some(files), Some(at_s)) = (account.used, account.files, account.counted_s) else {
            return Ok(());
        };
        let store = self.make_store()?;
        let _guard = Self::guard(&store, GUARD, false)?;
        let text = serde_json::to_vec(&Counted { bytes, files, at_s });
        replace_file(&store, FILE, &text.map_err(|_| StorageError::Damaged("the count of files"))?)
    }

    /// What the files in a directory, and below it, take up. Blocks.
    pub(crate) fn tally(&self, directory: OwnedFd) -> Tally {
        let (mut tally, began) = (Tally::default(), self.ledger.began());
        // What has come of uploads is in the account, too.
        let is_hidden =
            |name: &[u8]| reserved::is_reserved(name) && !name.starts_with(reserved::PARTIAL.as_bytes());
        // What cannot be read is for the next count.
        let _ = crate::remove::survey_found(directory, &DavPath::root(), &is_hidden, &mut |path, found| {
            let found = Tally::of(found, began);
            let is_part = path.name().is_some_and(reserved::is_reserved);
            tally.join(if is_part { found.part(u64::MAX) } else { found });
            Ok(())
        });
        tally
    }

    /// The time by the clock of the file system.
    fn touch(&self, name: &str) -> Result<Timestamp, StorageError> {
        let store = self.make_store()?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file =
            openat(&store, name, flags, Mode::RUSR | Mode::WUSR).map_err(StorageError::from_errno("open"))?;
        write_all(&file, b"\n", 0)?;
        Ok(Found::of(&file)?.changed())
    }
}

fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
