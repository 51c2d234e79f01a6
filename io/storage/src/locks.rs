//! Locks that survive a restart, shared by the nodes that share the tree.

mod log;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fd::OwnedFd;
use weir_dav::lock::LockTable;

use self::log::Log;
use crate::{StorageError, Tree};

const GUARD: &str = "locks.guard";

/// Locks of a tree: a log of changes in its reserved directory. Every node reads what other nodes append.
/// Paths are relative to the root of the tree. All calls block.
#[derive(Debug)]
pub struct LockStore {
    tree: Arc<Tree>,
    /// Table as of the last read, and the position in the log; `None` = the log must be read from its start.
    known: Mutex<Option<Known>>,
}

#[derive(Debug)]
struct Known {
    table: Arc<LockTable>,
    log: Log,
}

impl LockStore {
    /// Creates the store of this tree's locks.
    pub fn new(tree: Arc<Tree>) -> Self {
        Self { tree, known: Mutex::new(None) }
    }

    /// Returns the current locks.
    pub fn view(&self) -> Result<Arc<LockTable>, StorageError> {
        match self.tree.store()? {
            Some(store) => self.read(&store),
            None => Ok(Arc::default()),
        }
    }

    /// Runs an action that the locks must permit. No node can set or remove a lock meanwhile, so the action
    /// should be short.
    pub fn hold<T>(&self, act: impl FnOnce(&LockTable) -> T) -> Result<T, StorageError> {
        // Without the directory there has never been a lock. A first lock set at this moment counts as set
        // after the action.
        let Some(store) = self.tree.store()? else { return Ok(act(&LockTable::default())) };
        let _guard = Tree::guard(&store, GUARD, true)?;
        let table = self.read(&store)?;
        Ok(act(&table))
    }

    /// Changes the locks. The change is on the disk when this returns. The guard is released before the sync,
    /// so that other requests do not wait for the disk.
    pub fn update<T>(&self, change: impl FnOnce(&mut LockTable) -> T) -> Result<T, StorageError> {
        let store = self.tree.make_store()?;
        let guard = Tree::guard(&store, GUARD, false)?;
        let mut known = self.known();
        // If an error occurs from here on, the log is read again from its start.
        let Known { mut table, mut log } = Log::read(&store, known.take())?;
        let written = Arc::make_mut(&mut table);
        let done = change(written);
        let changes = written.take_changes();
        let unsynced =
            if changes.is_empty() { None } else { log.append(&self.tree, &store, &table, &changes)? };
        *known = Some(Known { table, log });
        drop((known, guard));
        if let Some(file) = unsynced {
            rustix::fs::fdatasync(file).map_err(StorageError::from_errno("fdatasync"))?;
        }
        Ok(done)
    }

    fn read(&self, store: &OwnedFd) -> Result<Arc<LockTable>, StorageError> {
        let mut known = self.known();
        let read = Log::read(store, known.take())?;
        let table = Arc::clone(&read.table);
        *known = Some(read);
        Ok(table)
    }

    fn known(&self) -> MutexGuard<'_, Option<Known>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
