//! Cache of open files.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use rustix::process::{Resource, getrlimit};
use weir_dav::path::DavPath;

use crate::closing::close;
use crate::name_watch::NameWatch;
use crate::{Disk, OpenFile, StorageError, Tree};

/// Files that were opened recently, kept open for the next request: opening a small file costs as much as
/// sending it.
///
/// A file that was replaced, removed or written to is never returned. Each time, the kernel is asked whether
/// the file is unchanged and whether its path still leads to it. The short check of the path asks whether any
/// name was changed in the directories on the way. The path is resolved in full only if so, and from time to
/// time.
///
/// Files are kept only if these checks need no waiting: on file systems of this machine, and not if clients'
/// files are opened as local users.
///
/// `M` is further data about a file, defined by the caller. It is dropped with the file.
pub struct OpenFiles<M> {
    tree: Arc<Tree>,
    disk: Disk,
    names: Option<NameWatch>,
    /// One shelf for each thread, up to the number of processors.
    shelves: Box<[Mutex<Shelf<M>>]>,
    files_max: usize,
    kept_for: Duration,
}

type Shelf<M> = HashMap<DavPath, Kept<M>>;

struct Kept<M> {
    file: Arc<OpenFile>,
    memo: Arc<M>,
    /// Time of the last full resolution of the path that led to the file.
    resolved: Instant,
    used: Instant,
    /// Generation of the watch on the path's names (see [`NameWatch::begin`]); `None` = not watched.
    watched: Option<u64>,
}

impl<M: Default> OpenFiles<M> {
    /// Creates the cache of a tree. The threads of `disk` close removed files.
    ///
    /// It keeps at most `files_max` files for each processor, and in all at most a 64th of the process's
    /// descriptors; 0 = none. [`Self::sweep`] closes a file that was not requested for `kept_for`; until
    /// then, a removed file still uses its space. Each path is resolved in full at least once in that time.
    pub fn new(tree: &Arc<Tree>, disk: &Disk, files_max: usize, kept_for: Duration) -> Self {
        let shelves = available_parallelism().map_or(1, usize::from);
        let files_max = if tree.answers_at_once() { files_max.min(allowed(shelves)) } else { 0 };
        let shelves = (0..shelves).map(|_| Mutex::new(HashMap::new())).collect();
        let names = match files_max > 0 && tree.follows_no_links() {
            true => NameWatch::new(Instant::now()),
            false => None,
        };
        Self { tree: Arc::clone(tree), disk: disk.clone(), names, shelves, files_max, kept_for }
    }

    /// Opens a regular file for reading without waiting, as [`Tree::open_cached`] does. Returns it with its
    /// further data.
    pub fn open(&self, path: &DavPath) -> Result<(Arc<OpenFile>, Arc<M>), StorageError> {
        let now = Instant::now();
        if let Some(file) = self.known(path, now, |_| true) {
            return Ok(file);
        }
        let watched = self.watch(path, now);
        Ok(self.keep(path, self.tree.open_cached(path)?, watched, now))
    }

    /// Returns a file that is already open and whose further data `suits` accepts, like [`Self::open`].
    /// `None` otherwise.
    pub fn kept(&self, path: &DavPath, suits: impl FnOnce(&M) -> bool) -> Option<(Arc<OpenFile>, Arc<M>)> {
        self.known(path, Instant::now(), suits)
    }

    fn known(
        &self,
        path: &DavPath,
        now: Instant,
        suits: impl FnOnce(&M) -> bool,
    ) -> Option<(Arc<OpenFile>, Arc<M>)> {
        let (file, memo, watched) = {
            let mut shelf = self.shelf();
            let kept = shelf.get_mut(path).filter(|kept| suits(&kept.memo))?;
            kept.used = now;
            // The watch does not see a mount over a directory.
            let is_due = now.saturating_duration_since(kept.resolved) >= self.kept_for;
            (Arc::clone(&kept.file), Arc::clone(&kept.memo), kept.watched.filter(|_| !is_due))
        };
        if self.is_still_there(path, &file, watched, now) {
            return Some((file, memo));
        }
        let stale = self.shelf().remove(path);
        stale.into_iter().for_each(|kept| self.let_go(kept));
        close(file, &self.tree, &self.disk);
        None
    }

    /// Returns whether a path still leads to a file and the file is unchanged.
    fn is_still_there(&self, path: &DavPath, file: &OpenFile, watched: Option<u64>, now: Instant) -> bool {
        if let (Some(names), Some(watched)) = (&self.names, watched)
            && names.is_as_it_was(watched, now)
        {
            return Tree::is_unchanged(file);
        }
        let watched = self.watch(path, now);
        if !self.tree.leads_to(path, file) {
            return false;
        }
        if let Some(kept) = self.shelf().get_mut(path).filter(|kept| std::ptr::eq(&*kept.file, file)) {
            (kept.watched, kept.resolved) = (watched, now);
        }
        true
    }

    fn watch(&self, path: &DavPath, now: Instant) -> Option<u64> {
        self.names.as_ref().and_then(|names| names.begin(&self.tree, path, now))
    }

    fn keep(
        &self,
        path: &DavPath,
        file: OpenFile,
        watched: Option<u64>,
        now: Instant,
    ) -> (Arc<OpenFile>, Arc<M>) {
        let (file, memo) = (Arc::new(file), Arc::<M>::default());
        if self.files_max == 0 {
            return (file, memo);
        }
        let kept =
            Kept { file: Arc::clone(&file), memo: Arc::clone(&memo), resolved: now, used: now, watched };
        let mut shelf = self.shelf();
        let mut gone = Vec::from_iter(shelf.insert(path.clone(), kept));
        if shelf.len() > self.files_max {
            let idlest = shelf.iter().min_by_key(|(_, kept)| kept.used).map(|(path, _)| path.clone());
            gone.extend(idlest.and_then(|path| shelf.remove(&path)));
        }
        drop(shelf);
        gone.into_iter().for_each(|kept| self.let_go(kept));
        (file, memo)
    }
}

impl<M> OpenFiles<M> {
    /// Closes files that were not requested for long enough and are not in use. Does not wait.
    pub fn sweep(&self, now: Instant) {
        self.names.iter().for_each(|names| names.sweep(now));
        for shelf in &self.shelves {
            let old: Vec<_> = lock(shelf).extract_if(|_, kept| self.is_idle(kept, now)).collect();
            old.into_iter().for_each(|(_, kept)| self.let_go(kept));
        }
    }

    /// Returns the number of files that are kept open.
    pub fn len(&self) -> usize {
        self.shelves.iter().map(|shelf| lock(shelf).len()).sum()
    }

    /// Returns whether no file is kept open.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the shelf of this thread.
    fn shelf(&self) -> MutexGuard<'_, Shelf<M>> {
        thread_local! {
            static NUMBER: usize = {
                static NEXT: AtomicUsize = AtomicUsize::new(0);
                NEXT.fetch_add(1, Ordering::Relaxed)
            };
        }
        let number = NUMBER.try_with(|number| *number).unwrap_or(0);
        lock(&self.shelves[number % self.shelves.len()])
    }

    /// Returns whether a file can be closed. Closing one that is being sent would free nothing.
    fn is_idle(&self, kept: &Kept<M>, now: Instant) -> bool {
        now.saturating_duration_since(kept.used) >= self.kept_for && Arc::strong_count(&kept.file) == 1
    }

    fn let_go(&self, kept: Kept<M>) {
        close(kept.file, &self.tree, &self.disk);
    }
}

/// Returns the number of files that each of `shelves` shelves may keep.
fn allowed(shelves: usize) -> usize {
    let descriptors = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    usize::try_from(descriptors / 64).unwrap_or(usize::MAX) / shelves.max(1)
}

fn lock<M>(shelf: &Mutex<Shelf<M>>) -> MutexGuard<'_, Shelf<M>> {
    shelf.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<M> Drop for OpenFiles<M> {
    fn drop(&mut self) {
        for shelf in &self.shelves {
            let all = std::mem::take(&mut *lock(shelf));
            all.into_values().for_each(|kept| self.let_go(kept));
        }
    }
}

impl<M> fmt::Debug for OpenFiles<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenFiles").field("files", &self.len()).finish_non_exhaustive()
    }
}
