//! Cleaning up what earlier starts of this node have left, a few names at a time.

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
use crate::remove::{DEPTH_MAX, open_directory, open_up, remove_tree};
use crate::rename::{Replace, rename};
use crate::{LocalUser, StorageError, Tree, journal, reserved};

/// What a sweep found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Swept {
    /// Leftovers that were removed, or given back their place.
    pub removed: u64,
    /// What belongs to a process of this node that still lives, or could not be removed.
    pub kept: u64,
}

/// A sweep that is under way: removes what earlier starts of this node did not complete, and brings back what they had out of
/// sight, or removes it too if what it made room for is there; nothing of other nodes, and nothing that another process is still at work on (one that drains after an upgrade). Looks
/// where their journals say; everywhere if the machine has been started since, because the journals may be incomplete then.
#[derive(Debug)]
pub struct Sweep {
    tree: Arc<Tree>,
    /// Where the journals are.
    store: OwnedFd,
    /// Those that are still to be followed.
    journals: Vec<Vec<u8>>,
    trail: Option<Trail>,
    swept: Swept,
}

/// A journal that is being followed.
#[derive(Debug)]
struct Trail {
    name: Vec<u8>,
    /// Its lock keeps other processes from following it, too.
    _file: OwnedFd,
    /// Nobody writes in it any more.
    is_dead: bool,
    /// A start of this node, as names have it, whose process is known to have ended.
    dead: Option<Vec<u8>>,
    /// What was kept before it was begun.
    kept: u64,
    /// Directories that are still to be looked at.
    paths: Vec<DavPath>,
    /// In what is in them, too.
    deep: bool,
    /// The directory that is being read last, within those before it.
    open: Vec<Dir>,
}

impl Tree {
    /// A whole [`Sweep`]. Blocks, after a start of the machine for long.
    pub fn sweep(self: &Arc<Self>) -> Result<Swept, StorageError> {
        let Some(mut sweep) = Sweep::begin(self)? else { return Ok(Swept::default()) };
        while !sweep.step(usize::MAX) {}
        Ok(sweep.swept)
    }
}

impl Sweep {
    /// Begins; `None`: nothing was ever begun here. Blocks, like every call of it.
    pub fn begin(tree: &Arc<Tree>) -> Result<Option<Self>, StorageError> {
        let Some(store) = tree.store()? else { return Ok(None) };
        let journals = journals(tree, &store)?;
        let (tree, swept) = (Arc::clone(tree), Swept::default());
        Ok(Some(Self { tree, store, journals, trail: None, swept }))
    }

    /// Looks at up to `entries_max` more members of directories; true: that was all. A directory that is on its way out goes
    /// in one step, with all that is in it.
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

    /// What it has come to so far.
    pub fn swept(&self) -> Swept {
        self.swept
    }

    /// `None`: its process lives, or it cannot be read.
    fn follow(&self, name: Vec<u8>) -> Option<Trail> {
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = openat(&self.store, &name, flags, Mode::empty()).ok()?;
        let is_unlocked = match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => true,
            Err(Errno::AGAIN) => return None,
            // There are no locks: what the journal leads to is judged by itself.
            Err(_) => false,
        };
        let is_dead = is_unlocked || Found::of(&file).is_ok_and(|found| is_aged(&found));
        // The locks of directories cannot be asked for on NFS; that of the journal can.
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
            // The last line may have been cut off.
            let read =
                lines.iter().filter_map(|line| DavPath::parse(line.as_bytes(), &PathLimits::NONE).ok());
            read.map(|read| read.path).collect()
        };
        let (kept, open) = (self.swept.kept, Vec::new());
        Some(Trail { name, _file: file, is_dead, dead, kept, paths, deep, open })
    }

    /// Forgets a journal that has led to everything that there was.
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
    /// Looks at one more member of a directory; true: that was all.
    fn step(&mut self, tree: &Tree, swept: &mut Swept) -> bool {
        let Some(directory) = self.open.last_mut() else {
            let Some(path) = self.paths.pop() else { return true };
            let opened = tree.resolve_directory(&path);
            match opened.and_then(|fd| Dir::new(fd).map_err(StorageError::from_errno("open"))) {
                Ok(directory) => self.open.push(directory),
                // For the next start. Of the others those that are gone have nothing any more.
                Err(_) => swept.kept += u64::from(self.deep),
            }
            return false;
        };
        match directory.read() {
            None => drop(self.open.pop()),
            Some(Ok(read)) => self.member(tree, read.file_name().to_bytes(), read.file_type(), swept),
            // The rest of it cannot be read: for the next start.
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
        // One that cannot be read has nothing that we have left there.
        if let Ok(inner) = open_directory(home, name).and_then(Dir::new) {
            self.open.push(inner);
        }
    }
}

impl Tree {
    /// Removes something with a name of Weir's own, or gives it back its place, if it is a leftover of this node.
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
    /// Gives back, or removes, what is in a reserved directory; false if it has to stay.
    fn settle_displaced(&self, directory: BorrowedFd<'_>, holder: &[u8]) -> bool {
        match give_back(directory, holder) {
            Ok(Fate::GivenBack) => true,
            Ok(Fate::Replaced) => {
                // From here on no start gives it back any more, whatever has its place by then.
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

/// Removes a directory that a user had on the way out, with no more than its owner may: somebody else's files in it stay.
fn remove_as_owner(directory: BorrowedFd<'_>, name: &[u8]) -> bool {
    let Ok(found) = Found::in_directory(directory, name) else { return false };
    match LocalUser::new(found.owner(), found.group(), []) {
        // Its own business.
        None => return remove_tree(directory, name).is_ok(),
        Some(owner) => {
            let _ = as_user(&Arc::new(owner), || remove_tree(directory, name).map_err(|(_, error)| error));
        }
    }
    // Where it was, the owner may have had rights by a group. Nothing is lost: it must be empty.
    match unlinkat(directory, name, AtFlags::REMOVEDIR) {
        Ok(()) | Err(Errno::NOENT) => true,
        Err(_) => false,
    }
}

/// Whether nobody is at work on a leftover any more. Its lock says so; where that cannot be asked for, that the process is
/// known to be dead, or its age.
fn is_abandoned(directory: BorrowedFd<'_>, name: &[u8], is_dead: bool) -> bool {
    let open = |flags: OFlags| {
        let flags = flags | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        openat(directory, name, flags, Mode::empty())
    };
    // For writing, because NFS turns these locks into others, which need it.
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

/// Nobody is at work on something for so long without changing it.
const AGED_S: u64 = 24 * 60 * 60;

pub(crate) fn is_aged(found: &Found) -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    found.modified().unix_s().saturating_add(AGED_S) < now
}

/// The journals of earlier starts of this node.
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
