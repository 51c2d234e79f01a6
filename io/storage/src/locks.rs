//! Locks that survive a restart, shared by the nodes that share the tree.

use std::sync::{Arc, Mutex, PoisonError};

use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;
use weir_dav::lock::LockTable;

use crate::acting::as_self;
use crate::metadata::Found;
use crate::notes::{read_all, replace_file};
use crate::{Metadata, StorageError, Tree};

const FILE: &str = "locks.json";
const GUARD: &str = "locks.guard";

/// The locks of a tree: a file in its reserved directory, which every node reads anew when it has changed. Paths in it are
/// those below the root of the tree. All calls block.
#[derive(Debug)]
pub struct LockStore {
    tree: Arc<Tree>,
    /// The last table that was read, and of which file.
    known: Mutex<Option<(Metadata, Arc<LockTable>)>>,
}

impl LockStore {
    /// The locks of this tree.
    pub fn new(tree: Arc<Tree>) -> Self {
        Self { tree, known: Mutex::new(None) }
    }

    /// The locks as they are now.
    pub fn view(&self) -> Result<Arc<LockTable>, StorageError> {
        match self.tree.store()? {
            Some(store) => self.read(&store),
            None => Ok(Arc::default()),
        }
    }

    /// Does something that the locks must permit. Nobody, on any node, can take or give back a lock meanwhile; so it should be
    /// short.
    pub fn hold<T>(&self, act: impl FnOnce(&LockTable) -> T) -> Result<T, StorageError> {
        // Without the directory there has never been a lock; whoever makes the first one now could as well have been later.
        let Some(store) = self.tree.store()? else { return Ok(act(&LockTable::default())) };
        let _guard = Tree::guard(&store, GUARD, true)?;
        let table = self.read(&store)?;
        Ok(act(&table))
    }

    /// Changes the locks. When it returns, the change is on the disk.
    pub fn update<T>(&self, change: impl FnOnce(&mut LockTable) -> T) -> Result<T, StorageError> {
        let store = self.tree.make_store()?;
        let _guard = Tree::guard(&store, GUARD, false)?;
        let before = self.read(&store)?;
        let mut table = LockTable::clone(&before);
        let done = change(&mut table);
        if table != *before {
            let text = serde_json::to_vec(&table).map_err(|_| StorageError::Damaged("the file of locks"))?;
            as_self(|| replace_file(&store, FILE, &text))?;
            rustix::fs::fsync(&store).map_err(StorageError::from_errno("fsync"))?;
        }
        Ok(done)
    }

    fn read(&self, store: &OwnedFd) -> Result<Arc<LockTable>, StorageError> {
        // Opening, unlike looking, makes an NFS client ask whether the file is still the same.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = match as_self(|| openat(store, FILE, flags, Mode::empty())) {
            Err(Errno::NOENT) => return Ok(Arc::default()),
            opened => opened.map_err(StorageError::from_errno("open"))?,
        };
        let metadata = Found::of(&file)?.metadata()?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, table)) = &*known
            && of.is_same_version(&metadata)
            && of.changed == metadata.changed
        {
            return Ok(Arc::clone(table));
        }
        let text = read_all(&file)?;
        let table: LockTable =
            serde_json::from_slice(&text).map_err(|_| StorageError::Damaged("the file of locks"))?;
        let table = Arc::new(table);
        *known = Some((metadata, Arc::clone(&table)));
        Ok(table)
    }
}
