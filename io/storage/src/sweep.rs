//! Cleaning up what earlier starts of this node have left.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Dir, FlockOperation, Mode, OFlags, flock, openat, unlinkat};
use rustix::io::Errno;
use weir_dav::path::{DavPath, PathLimits};

use crate::acting::as_user;
use crate::displaced::{Fate, give_back};
use crate::metadata::Found;
use crate::notes::read_all;
use crate::remove::{open_directory, open_up, remove_tree};
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

impl Tree {
    /// Removes what earlier starts of this node did not complete, and brings back what they had out of sight, or removes it too if
    /// what it made room for is there; nothing of other nodes, and nothing that another process
    /// is still at work on (one that drains after an upgrade). Looks where their journals say; everywhere if the machine has
    /// been started since, because the journals may be incomplete then. Blocks, in that case for long.
    pub fn sweep(&self) -> Result<Swept, StorageError> {
        let mut swept = Swept::default();
        let Some(store) = self.store()? else { return Ok(swept) };
        let prefix = journal::prefix(self.options());
        let own = format!("{prefix}{:016x}", self.options().boot);
        for name in names(&store)? {
            if !name.starts_with(prefix.as_bytes()) || name == own.as_bytes() {
                continue;
            }
            let opened =
                openat(&store, &name, OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty());
            let Ok(file) = opened else { continue };
            let is_unlocked = match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => true,
                // Its process lives.
                Err(Errno::AGAIN) => continue,
                // There are no locks: what the journal leads to is judged by itself.
                Err(_) => false,
            };
            let is_dead = is_unlocked || Found::of(&file).is_ok_and(|found| is_aged(&found));
            let kept = swept.kept;
            // The locks of directories cannot be asked for on NFS; that of the journal can.
            let dead = name.strip_prefix(prefix.as_bytes()).filter(|_| is_unlocked);
            self.follow(&read_all(&file)?, dead, &mut swept)?;
            if is_dead && swept.kept == kept {
                let _ = unlinkat(&store, &name, AtFlags::empty());
            }
        }
        Ok(swept)
    }

    /// Looks where a journal says. `dead`: a start of this node, as names have it, whose process is known to have ended.
    fn follow(&self, journal: &[u8], dead: Option<&[u8]>, swept: &mut Swept) -> Result<(), StorageError> {
        let text = String::from_utf8_lossy(journal);
        let mut lines = text.lines();
        let same_boot = lines.next().is_some_and(|boot| boot == journal::machine_boot());
        let paths: Vec<_> = lines.collect();
        if !same_boot || paths.contains(&journal::EVERYWHERE) {
            let root = self.resolve_directory(&DavPath::root())?;
            return self.sweep_below(&root, dead, swept, 0);
        }
        for path in paths {
            // The last line may have been cut off.
            let Ok(read) = DavPath::parse(path.as_bytes(), &PathLimits::NONE) else { continue };
            if let Ok(directory) = self.resolve_directory(&read.path) {
                self.sweep_directory(&directory, dead, swept)?;
            }
        }
        Ok(())
    }

    fn sweep_below(
        &self,
        directory: &OwnedFd,
        dead: Option<&[u8]>,
        swept: &mut Swept,
        depth: usize,
    ) -> Result<(), StorageError> {
        self.sweep_directory(directory, dead, swept)?;
        let mut members = Dir::read_from(directory).map_err(StorageError::from_errno("open"))?;
        while let Some(read) = members.read() {
            let read = read.map_err(StorageError::from_errno("getdents"))?;
            let name = read.file_name().to_bytes();
            if matches!(name, b"." | b"..") || reserved::is_reserved(name) || depth > 512 {
                continue;
            }
            let kind = read.file_type();
            let may_be = matches!(kind, rustix::fs::FileType::Directory | rustix::fs::FileType::Unknown);
            // One that cannot be read has nothing that we have left there.
            if may_be && let Ok(inner) = open_directory(directory, name) {
                self.sweep_below(&inner, dead, swept, depth + 1)?;
            }
        }
        Ok(())
    }

    fn sweep_directory(
        &self,
        directory: &OwnedFd,
        dead: Option<&[u8]>,
        swept: &mut Swept,
    ) -> Result<(), StorageError> {
        let owner = format!("{}~", self.options().node);
        let boot = format!("{owner}{:016x}~", self.options().boot);
        for name in names(directory)? {
            let is_old = |prefix: &str| {
                let rest = name.strip_prefix(prefix.as_bytes());
                rest.is_some_and(|rest| {
                    rest.starts_with(owner.as_bytes()) && !rest.starts_with(boot.as_bytes())
                })
            };
            let is_abandoned = || {
                let start = name.split(|byte| *byte == b'~').nth(2);
                is_abandoned(directory, &name, dead.is_some() && start == dead)
            };
            if name.starts_with(reserved::PARTIAL.as_bytes()) {
                let is_orphan = Found::in_directory(directory, &name)
                    .is_ok_and(|found| self.remove_orphan(directory, &name, &found));
                swept.removed += u64::from(is_orphan);
                continue;
            }
            let done = if is_old(reserved::TEMPORARY) {
                is_abandoned() && self.remove_any(directory, &name)
            } else if is_old(reserved::DISPLACED) {
                is_abandoned() && self.settle_displaced(directory, &name)
            } else {
                continue;
            };
            *if done { &mut swept.removed } else { &mut swept.kept } += 1;
        }
        Ok(())
    }
}

impl Tree {
    /// Gives back, or removes, what is in a reserved directory; false if it has to stay.
    fn settle_displaced(&self, directory: &OwnedFd, holder: &[u8]) -> bool {
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

    fn remove_any(&self, directory: &OwnedFd, name: &[u8]) -> bool {
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
fn remove_as_owner(directory: &OwnedFd, name: &[u8]) -> bool {
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
fn is_abandoned(directory: &OwnedFd, name: &[u8], is_dead: bool) -> bool {
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

fn names(directory: &OwnedFd) -> Result<Vec<Vec<u8>>, StorageError> {
    let mut members = Dir::read_from(directory).map_err(StorageError::from_errno("open"))?;
    let mut names = Vec::new();
    while let Some(read) = members.read() {
        let name = read.map_err(StorageError::from_errno("getdents"))?.file_name().to_bytes().to_vec();
        let is_ours = reserved::is_reserved(&name) || name.starts_with(b"journal~");
        if is_ours {
            names.push(name);
        }
    }
    Ok(names)
}
