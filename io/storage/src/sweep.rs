//! Removal of what earlier starts of this node have left behind, a few names at a time.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, flock, openat, unlinkat};
use rustix::io::Errno;
use weir_dav::path::{DavPath, PathLimits};

use crate::acting::as_user;
use crate::displaced::{Fate, give_back};
use crate::metadata::Found;
use crate::notes::read_all;
use crate::rename::{Replace, rename};
use crate::tree_walk::{DEPTH_MAX, open_directory, open_up, remove_tree};
use crate::{LocalUser, StorageError, Tree, journal, reserved};

/// Result of a sweep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Swept {
    /// Leftovers that were removed or moved back to their original names.
    pub removed: u64,
    /// Leftovers that stay: a process of this node still uses them, or they could not be removed.
    pub kept: u64,
}

/// A running sweep. It removes incomplete files of earlier starts of this node. It moves displaced files back
/// to their names, or removes them if their replacement is there.
///
/// It leaves alone what belongs to other nodes or is in use by another process, for example one that drains
/// after an upgrade. It looks in the directories that the journals name. After a restart of the machine the
/// journals may be incomplete, so it looks in all directories.
#[derive(Debug)]
pub struct Sweep {
    tree: Arc<Tree>,
    /// Directory that holds the journals.
    store: OwnedFd,
    /// Names of the journals that are still to be followed.
    journals: Vec<Vec<u8>>,
    trail: Option<Trail>,
    swept: Swept,
}

/// A journal that is being followed.
#[derive(Debug)]
struct Trail {
    name: Vec<u8>,
    /// Open journal; its lock keeps other processes from following the same journal.
    _file: OwnedFd,
    /// Set when no process writes in the journal any more.
    is_dead: bool,
    /// The start of this node that wrote the journal, as it appears in names; `None` unless its process is
    /// known to have ended.
    dead: Option<Vec<u8>>,
    /// Value of [`Swept::kept`] when this journal was begun.
    kept: u64,
    /// Directories that are still to be searched.
    paths: Vec<DavPath>,
    /// Set when subdirectories are searched, too.
    deep: bool,
    /// Open directories from the outermost to the one that is being read.
    open: Vec<Dir>,
}

impl Tree {
    /// Runs a whole [`Sweep`]. Blocks, for a long time after a restart of the machine.
    pub fn sweep(self: &Arc<Self>) -> Result<Swept, StorageError> {
        let Some(mut sweep) = Sweep::begin(self)? else { return Ok(Swept::default()) };
        while !sweep.step(usize::MAX) {}
        Ok(sweep.swept)
    }
}

impl Sweep {
    /// Begins a sweep. Returns `None` if the tree has no reserved directory, and so no leftovers. Blocks, as
    /// all methods of [`Sweep`] do.
    pub fn begin(tree: &Arc<Tree>) -> Result<Option<Self>, StorageError> {
        let Some(store) = tree.store()? else { return Ok(None) };
        let journals = journals(tree, &store)?;
        let (tree, swept) = (Arc::clone(tree), Swept::default());
        Ok(Some(Self { tree, store, journals, trail: None, swept }))
    }

    /// Looks at up to `entries_max` more directory members. Returns true if none are left. A leftover
    /// directory is removed in one step, with all its content.
    pub fn step(&mut self, entries_max: usize) -> bool {
        for _ in 0..entries_max {
            if let Some(trail) = &mut self.trail {
                if trail.step(&self.tree, &mut self.swept) {
                    self.end_trail();
                }
                continue;
            }
            let Some(journal) = self.journals.pop() else { return true };
            self.trail = self.follow(journal);
        }
        false
    }

    /// Returns the result so far.
    pub fn swept(&self) -> Swept {
        self.swept
    }

    /// Opens a journal. Returns `None` if its process lives or the journal cannot be read.
    fn follow(&self, name: Vec<u8>) -> Option<Trail> {
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(&self.store, &name, flags, Mode::empty()).ok()?;
        let is_unlocked = match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => true,
            Err(Errno::AGAIN) => return None,
            // The file system has no locks, so each leftover is judged by itself.
            Err(_) => false,
        };
        let is_dead = is_unlocked || Found::of(&file).is_ok_and(|found| is_aged(&found));
        // On NFS, a journal's lock can be tested and a directory's cannot.
        let prefix = journal::prefix(self.tree.options());
        let dead = name.strip_prefix(prefix.as_bytes()).filter(|_| is_unlocked).map(<[u8]>::to_vec);
        let journal = read_all(&file).ok()?;
        let text = String::from_utf8_lossy(&journal);
        let mut lines = text.lines();
        let same_boot = lines.next().is_some_and(|boot| boot == journal::machine_boot());
        let lines: Vec<_> = lines.collect();
        let deep = !same_boot || lines.contains(&journal::EVERYWHERE);
        let paths = if deep {
            vec![DavPath::root()]
        } else {
            // A crash may have cut off the last line.
            let read =
                lines.iter().filter_map(|line| DavPath::parse(line.as_bytes(), &PathLimits::NONE).ok());
            read.map(|read| read.path).collect()
        };
        let (kept, open) = (self.swept.kept, Vec::new());
        Some(Trail { name, _file: file, is_dead, dead, kept, paths, deep, open })
    }

    /// Removes a journal if it is dead and all its leftovers are gone.
    fn end_trail(&mut self) {
        if let Some(trail) = self.trail.take()
            && trail.is_dead
            && trail.kept == self.swept.kept
        {
            let _ = unlinkat(&self.store, &trail.name, AtFlags::empty());
        }
    }
}

impl Trail {
    /// Looks at one more member of a directory. Returns true if none are left.
    fn step(&mut self, tree: &Tree, swept: &mut Swept) -> bool {
        let Some(directory) = self.open.last_mut() else {
            let Some(path) = self.paths.pop() else { return true };
            let opened = tree.resolve_directory(&path);
            match opened.and_then(|fd| Dir::new(fd).map_err(StorageError::from_errno("open"))) {
                Ok(directory) => self.open.push(directory),
                // The next start tries again. A directory that only the journal names is gone, with its
                // leftovers.
                Err(_) => swept.kept += u64::from(self.deep),
            }
            return false;
        };
        match directory.read() {
            None => drop(self.open.pop()),
            Some(Ok(read)) => self.member(tree, read.file_name().to_bytes(), read.file_type(), swept),
            // The rest cannot be read; the next start tries again.
            Some(Err(_)) => {
                self.open.pop();
                swept.kept += 1;
            }
        }
        false
    }

    fn member(&mut self, tree: &Tree, name: &[u8], kind: FileType, swept: &mut Swept) {
        let Some(Ok(home)) = self.open.last().map(Dir::fd) else { return };
        if reserved::is_reserved(name) {
            return tree.clean_up(home, name, self.dead.as_deref(), swept);
        }
        let may_be = self.deep && matches!(kind, FileType::Directory | FileType::Unknown);
        if !may_be || matches!(name, b"." | b"..") || self.open.len() > DEPTH_MAX {
            return;
        }
        // A directory that cannot be read holds no leftovers of this node.
        if let Ok(inner) = open_directory(home, name).and_then(Dir::new) {
            self.open.push(inner);
        }
    }
}

impl Tree {
    /// Removes a member with a reserved name, or moves it back, if it is a leftover of this node.
    fn clean_up(&self, directory: BorrowedFd<'_>, name: &[u8], dead: Option<&[u8]>, swept: &mut Swept) {
        let owner = format!("{}~", self.options().node);
        let boot = format!("{owner}{:016x}~", self.options().boot);
        let is_old = |prefix: &str| {
            let rest = name.strip_prefix(prefix.as_bytes());
            rest.is_some_and(|rest| rest.starts_with(owner.as_bytes()) && !rest.starts_with(boot.as_bytes()))
        };
        let is_abandoned = || {
            let start = name.split(|byte| *byte == b'~').nth(2);
            is_abandoned(directory, name, dead.is_some() && start == dead)
        };
        if name.starts_with(reserved::PARTIAL.as_bytes()) {
            let is_orphan = Found::in_directory(directory, name)
                .is_ok_and(|found| self.remove_orphan(directory, name, &found));
            swept.removed += u64::from(is_orphan);
            return;
        }
        let done = if is_old(reserved::TEMPORARY) {
            is_abandoned() && self.remove_any(directory, name)
        } else if is_old(reserved::DISPLACED) {
            is_abandoned() && self.settle_displaced(directory, name)
        } else {
            return;
        };
        *if done { &mut swept.removed } else { &mut swept.kept } += 1;
    }
}

impl Tree {
    /// Moves back or removes the content of a reserved directory. Returns false if it has to stay.
    fn settle_displaced(&self, directory: BorrowedFd<'_>, holder: &[u8]) -> bool {
        match give_back(directory, holder) {
            Ok(Fate::GivenBack) => true,
            Ok(Fate::Replaced) => {
                // After this renaming no later start moves it back, even if its original name becomes free.
                let number = holder.strip_prefix(reserved::DISPLACED.as_bytes()).unwrap_or_default();
                let doomed = [reserved::TEMPORARY.as_bytes(), number].concat();
                rename(directory, holder, directory, &doomed, Replace::Never).is_ok()
                    && self.remove_any(directory, &doomed)
            }
            Ok(Fate::Stays) | Err(_) => false,
        }
    }

    fn remove_any(&self, directory: BorrowedFd<'_>, name: &[u8]) -> bool {
        match unlinkat(directory, name, AtFlags::empty()) {
            Err(Errno::ISDIR | Errno::PERM) if self.options().as_users => remove_as_owner(directory, name),
            Err(Errno::ISDIR | Errno::PERM) => {
                let remove = || remove_tree(directory, name);
                remove().is_ok() || {
                    open_up(directory, name);
                    remove().is_ok()
                }
            }
            done => done.is_ok(),
        }
    }
}

/// Removes a user's displaced directory with the owner's rights only. Files of other users in it stay.
fn remove_as_owner(directory: BorrowedFd<'_>, name: &[u8]) -> bool {
    let Ok(found) = Found::in_directory(directory, name) else { return false };
    match LocalUser::new(found.owner(), found.group(), []) {
        // The owner is root, as this process is.
        None => return remove_tree(directory, name).is_ok(),
        Some(owner) => {
            let _ = as_user(&Arc::new(owner), || remove_tree(directory, name).map_err(|(_, error)| error));
        }
    }
    // In its old place, the owner may have had rights through a group. An empty directory can be removed
    // without loss.
    match unlinkat(directory, name, AtFlags::REMOVEDIR) {
        Ok(()) | Err(Errno::NOENT) => true,
        Err(_) => false,
    }
}

/// Returns whether no process uses a leftover any more. Its lock decides; if locks are unavailable, `is_dead`
/// or the leftover's age decides.
fn is_abandoned(directory: BorrowedFd<'_>, name: &[u8], is_dead: bool) -> bool {
    let open = |flags: OFlags| {
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        openat(directory, name, flags, Mode::empty())
    };
    // Opens for writing, because NFS emulates these locks with locks that need it.
    let file = match open(OFlags::RDWR) {
        Err(Errno::ISDIR) => open(OFlags::RDONLY),
        opened => opened,
    };
    match file.and_then(|file| flock(&file, FlockOperation::NonBlockingLockExclusive)) {
        Ok(()) => true,
        Err(Errno::AGAIN) => false,
        Err(_) => is_dead || Found::in_directory(directory, name).is_ok_and(|found| is_aged(&found)),
    }
}

/// Age in seconds after which a leftover counts as abandoned: any active process would have changed it.
const AGED_S: u64 = 24 * 60 * 60;

pub(crate) fn is_aged(found: &Found) -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    found.modified().unix_s().saturating_add(AGED_S) < now
}

/// Returns the names of the journals of earlier starts of this node.
fn journals(tree: &Tree, store: &OwnedFd) -> Result<Vec<Vec<u8>>, StorageError> {
    let prefix = journal::prefix(tree.options());
    let own = format!("{prefix}{:016x}", tree.options().boot);
    let mut members = Dir::read_from(store).map_err(StorageError::from_errno("open"))?;
    let mut names = Vec::new();
    while let Some(read) = members.read() {
        let name = read.map_err(StorageError::from_errno("getdents"))?.file_name().to_bytes().to_vec();
        if name.starts_with(prefix.as_bytes()) && name != own.as_bytes() {
            names.push(name);
        }
    }
    Ok(names)
}
