//! What is out of sight for a moment, to make room for something else or to be looked at in peace, and may have to come back.

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, Dir, FlockOperation, Mode, flock, mkdirat, unlinkat};
use rustix::io::Errno;
use weir_dav::path::DavPath;

use crate::metadata::Found;
use crate::remove::{open_directory, remove_tree};
use crate::rename::{Replace, rename};
use crate::{StorageError, Tree};

/// A file or directory in a reserved directory of its own, under its own name. Until it is discarded it is nobody's to remove:
/// if the process dies, the next start of the node gives it back its place, unless what it made room for has that.
#[derive(Debug)]
pub(crate) struct Displaced<'a> {
    tree: &'a Tree,
    /// The directory that it belongs in, and its name in there.
    home: &'a OwnedFd,
    name: &'a [u8],
    /// The reserved directory, whose lock tells other processes that somebody is at work on it.
    holder: String,
    inside: OwnedFd,
}

impl<'a> Displaced<'a> {
    /// Takes what has this name in `home`, which is the directory at `path`, out of sight, to make room for `successor` if there
    /// is one.
    ///
    /// # Errors
    /// Nothing has changed; EXDEV of a file system that cannot rename directories is [`StorageError::Io`].
    pub(crate) fn take(
        tree: &'a Tree,
        home: &'a OwnedFd,
        path: &DavPath,
        name: &'a [u8],
        successor: Option<&Found>,
    ) -> Result<Self, StorageError> {
        tree.journal(path);
        let mut holder = tree.displaced_name();
        if let Some(successor) = successor.and_then(Found::identity) {
            holder.push('~');
            holder.push_str(&successor);
        }
        mkdirat(home, &holder, Mode::RWXU).map_err(StorageError::from_errno("mkdir"))?;
        let taken = open_directory(home, holder.as_bytes()).and_then(|inside| {
            // Where there are no such locks, the name alone has to do.
            let _ = flock(&inside, FlockOperation::NonBlockingLockExclusive);
            rename(home, name, &inside, name, Replace::Never).map(|()| inside)
        });
        match taken {
            Ok(inside) => Ok(Self { tree, home, name, holder, inside }),
            Err(errno) => {
                let _ = unlinkat(home, &holder, AtFlags::REMOVEDIR);
                Err(match errno {
                    Errno::XDEV => StorageError::Io("rename", errno),
                    errno => StorageError::from_errno("rename")(errno),
                })
            }
        }
    }

    /// The directory that it is in now, under its name.
    pub(crate) fn inside(&self) -> &OwnedFd {
        &self.inside
    }

    /// Gives it back its place.
    ///
    /// # Errors
    /// It stays where it is: somebody else has its place by now.
    pub(crate) fn restore(self) -> Result<(), StorageError> {
        rename(&self.inside, self.name, self.home, self.name, Replace::Never)
            .map_err(StorageError::from_errno("rename"))?;
        let _ = unlinkat(self.home, &self.holder, AtFlags::REMOVEDIR);
        Ok(())
    }

    /// Removes it: what came into its place is there. What cannot be removed stays out of sight, and goes at the next start.
    pub(crate) fn discard(self) {
        let doomed = self.tree.temporary_name();
        // From here on it is not given back any more.
        if rename(self.home, self.holder.as_bytes(), self.home, doomed.as_bytes(), Replace::Never).is_ok() {
            if let Ok(inside) = self.inside.try_clone() {
                self.tree.ledger.gone(self.tree.tally(inside));
            }
            let _ = remove_tree(self.home, doomed.as_bytes());
        }
    }
}

/// What has become of what a process that died had out of sight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It has its place again, and the reserved directory is gone.
    GivenBack,
    /// What it made room for has its place: it is to be removed.
    Replaced,
    /// Something else has its place, and nobody can tell which of the two is wanted.
    Stays,
}

/// Gives what a process that died has left in the reserved directory `holder` back its place in `home`, if that is free.
pub(crate) fn give_back(home: BorrowedFd<'_>, holder: &[u8]) -> Result<Fate, Errno> {
    let inside = open_directory(home, holder)?;
    let mut fate = Fate::GivenBack;
    for name in members(inside.as_fd())? {
        if rename(&inside, &name, home, &name, Replace::Never).is_err() {
            let is_replaced = fate != Fate::Stays && has_successor(home, &name, holder);
            fate = if is_replaced { Fate::Replaced } else { Fate::Stays };
        }
    }
    if fate == Fate::GivenBack {
        unlinkat(home, holder, AtFlags::REMOVEDIR)?;
    }
    Ok(fate)
}

/// Whether what made room, by the name of its reserved directory, did so for what has this name now.
fn has_successor(home: BorrowedFd<'_>, name: &[u8], holder: &[u8]) -> bool {
    let Some(successor) = holder.split(|byte| *byte == b'~').nth(4) else { return false };
    let there = Found::in_directory(home, name).ok().and_then(|there| there.identity());
    there.is_some_and(|there| there.as_bytes() == successor)
}

fn members(directory: BorrowedFd<'_>) -> Result<Vec<Vec<u8>>, Errno> {
    let mut names = Vec::new();
    let mut read = Dir::read_from(directory)?;
    while let Some(entry) = read.read() {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if !matches!(name, b"." | b"..") {
            names.push(name.to_vec());
        }
    }
    Ok(names)
}
