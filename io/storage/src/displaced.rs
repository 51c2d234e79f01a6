//! Files and directories that are displaced for a moment, to make room for others or to be checked, and may
//! have to come back.

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, Dir, FlockOperation, Mode, flock, mkdirat, unlinkat};
use rustix::io::Errno;
use weir_dav::path::DavPath;

use crate::metadata::Found;
use crate::rename::{Replace, rename};
use crate::tree_walk::{open_directory, remove_tree};
use crate::{StorageError, Tree};

/// A file or directory that was moved, under its own name, into a reserved directory of its own. No other
/// process removes it. If this process dies, the node's next start moves it back, unless its successor has
/// its name.
#[derive(Debug)]
pub(crate) struct Displaced<'a> {
    tree: &'a Tree,
    /// Original directory, and its name there.
    home: &'a OwnedFd,
    name: &'a [u8],
    /// Name of the reserved directory, whose lock tells other processes that it is in use.
    holder: String,
    inside: OwnedFd,
}

impl<'a> Displaced<'a> {
    /// Displaces the entry `name` of `home`, which is the directory at `path`, to make room for `successor`,
    /// if given.
    ///
    /// # Errors
    /// Nothing has changed then. EXDEV from a file system that cannot rename directories is
    /// [`StorageError::Io`].
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
            // Without such locks, the reserved name must suffice.
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

    /// Returns the reserved directory, which contains it under its own name.
    pub(crate) fn inside(&self) -> &OwnedFd {
        &self.inside
    }

    /// Moves it back.
    ///
    /// # Errors
    /// If another entry has its name by now; it stays where it is.
    pub(crate) fn restore(self) -> Result<(), StorageError> {
        rename(&self.inside, self.name, self.home, self.name, Replace::Never)
            .map_err(StorageError::from_errno("rename"))?;
        let _ = unlinkat(self.home, &self.holder, AtFlags::REMOVEDIR);
        Ok(())
    }

    /// Removes it, because its successor is in place. What cannot be removed stays hidden until the next
    /// start.
    pub(crate) fn discard(self) {
        let doomed = self.tree.temporary_name();
        // From here on it is not moved back.
        if rename(self.home, self.holder.as_bytes(), self.home, doomed.as_bytes(), Replace::Never).is_ok() {
            if let Ok(inside) = self.inside.try_clone() {
                self.tree.ledger.gone(self.tree.tally(inside));
            }
            let _ = remove_tree(self.home, doomed.as_bytes());
        }
    }
}

/// Result for something that a dead process had displaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is back in its place, and the reserved directory is removed.
    GivenBack,
    /// Its successor has its name, so it is to be removed.
    Replaced,
    /// Something else has its name, and it is unclear which of the two is wanted.
    Stays,
}

/// Moves the content of `holder`, the reserved directory of a dead process, back to `home`, if the name is
/// free.
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

/// Returns whether the entry with this name is the successor that the reserved directory's name gives.
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
