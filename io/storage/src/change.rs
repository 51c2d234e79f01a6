//! Creating directories, and moving files and directories.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Dir, Mode, mkdirat, unlinkat};
use rustix::io::Errno;
use weir_dav::path::DavPath;

use crate::copy::CopyOptions;
use crate::displaced::Displaced;
use crate::gate::{Gate, MoveGate, pass};
use crate::ledger::Tally;
use crate::metadata::Found;
use crate::notes::{self, Side};
use crate::rename::{Replace, rename};
use crate::{Durability, Failure, StorageError, Tree};

/// Result of COPY or MOVE.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transferred {
    /// True if the destination did not exist before.
    pub created: bool,
}

impl Tree {
    /// Creates a directory in an existing directory. Blocks.
    ///
    /// # Errors
    /// [`StorageError::Exists`] if anything has the name; [`StorageError::ParentMissing`] if its directory
    /// does not exist.
    pub fn create_directory(&self, path: &DavPath, durability: Durability) -> Result<(), StorageError> {
        self.create_directory_through(path, durability, &mut |step| step())
    }

    /// Creates a directory like [`Self::create_directory`], with a gate before the visible step.
    pub fn create_directory_through(
        &self,
        path: &DavPath,
        durability: Durability,
        gate: &mut Gate<'_>,
    ) -> Result<(), StorageError> {
        if path.is_root() {
            return Err(StorageError::Exists);
        }
        let (home, name) = self.resolve_parent(path)?;
        let mode = Mode::from_raw_mode(self.options().directory_mode.into());
        let turn = self.turn_at(&home, name)?;
        pass(gate, || {
            self.ledger.require_entries(1)?;
            mkdirat(&home, name, mode).map_err(StorageError::from_errno("mkdir"))
        })?;
        drop(turn);
        self.ledger.came(Tally::new_directory());
        durability.sync_directory(&home)
    }

    /// Moves a file, or a directory with its content. Blocks.
    ///
    /// Within a file system the move is one atomic step. A file at the destination is replaced in that step.
    /// If either of the two is a directory, the old destination is displaced just before, and restored if the
    /// step fails. A directory is displaced only if it is the one that was there when the move began.
    ///
    /// To another file system, the source is copied, the copy becomes visible as a whole, and then the source
    /// is removed.
    ///
    /// A symbolic link is moved itself, and only within its directory. Two paths of the same entry, through a
    /// link or a mount, are refused.
    ///
    /// # Errors
    /// [`Failure`] names the path of the error. It is [`StorageError::Exists`] at `to` if something is there
    /// and `overwrite` is false, or if another directory has appeared there since the move began.
    pub fn rename(
        self: &Arc<Self>,
        from: &DavPath,
        to: &DavPath,
        overwrite: bool,
        durability: Durability,
        cancelled: &AtomicBool,
    ) -> Result<Transferred, Failure> {
        let options = CopyOptions { deep: true, overwrite, durability };
        self.rename_through(from, to, options, cancelled, &mut |step, _| step())
    }

    /// Moves like [`Self::rename`], with a gate before the visible step. `options.deep` is ignored: a
    /// directory moves with its content.
    pub fn rename_through(
        self: &Arc<Self>,
        from: &DavPath,
        to: &DavPath,
        options: CopyOptions,
        cancelled: &AtomicBool,
        gate: &mut MoveGate<'_>,
    ) -> Result<Transferred, Failure> {
        let CopyOptions { overwrite, durability, .. } = options;
        let at_source = |error: StorageError| Failure { path: from.clone(), error };
        let at_destination = |error: StorageError| Failure { path: to.clone(), error };
        if from.starts_with(to) || to.starts_with(from) {
            return Err(at_destination(StorageError::Refused));
        }
        let (source, old) = self.resolve_parent(from).map_err(|error| at_source(error.of_source()))?;
        let (home, new) = self.resolve_parent(to).map_err(at_destination)?;
        let moved = Self::look(&source, old).map_err(at_source)?.ok_or(at_source(StorageError::NotFound))?;
        let there = Self::look(&home, new).map_err(at_destination)?;
        if moved.is_link() && from.parent() != to.parent() {
            // In another directory, a relative link would point elsewhere.
            return Err(at_source(StorageError::Refused));
        }
        if there.is_some() && !overwrite {
            return Err(at_destination(StorageError::Exists));
        }
        if Self::is_one_entry(&source, old, &home, new, &moved, there.as_ref()).map_err(at_destination)? {
            return Err(at_destination(StorageError::Refused));
        }
        // A mount point would move along with its directory, or be removed with it.
        for (found, path, home, name) in
            [(Some(&moved), from, &source, old), (there.as_ref(), to, &home, new)]
        {
            if found.is_some_and(Found::is_directory) {
                Self::require_no_mount(home, name)
                    .map_err(|(below, error)| Failure { path: path.append(&below), error })?;
            }
        }
        let replaced = there.as_ref().map(|there| self.tally_of_file(&home, new, there)).unwrap_or_default();
        carry_notes(&source, old, &home, new, &moved).map_err(at_destination)?;
        let renaming = Renaming { source: &source, old, home: &home, new, to };
        let turns = self.turns_at((&source, old), (&home, new)).map_err(at_destination)?;
        let renamed = pass(&mut |step| gate(step, None), || self.step(&renaming, &moved, there.as_ref()));
        drop(turns);
        match renamed {
            Ok(displaced) => {
                if let Some(displaced) = displaced {
                    displaced.discard();
                }
            }
            Err(StorageError::Io(_, Errno::XDEV)) => {
                notes::forget(&home, new, moved.inode());
                return self.move_across(from, to, CopyOptions { deep: true, ..options }, cancelled, gate);
            }
            Err(error) => {
                notes::forget(&home, new, moved.inode());
                return Err(at_destination(error));
            }
        }
        notes::forget(&source, old, moved.inode());
        if let Some(there) = there.as_ref().filter(|there| !there.is_same_as(&moved)) {
            notes::forget(&home, new, there.inode());
            // A displaced destination was already subtracted when it was discarded.
            if !moved.is_directory() {
                self.ledger.gone(replaced);
            }
        } else if there.is_some() && moved.names() > 1 {
            // Each name counts as a file, and the file has lost one name.
            self.ledger.gone(replaced);
        }
        durability.sync_directory(&home).map_err(at_destination)?;
        durability.sync_directory(&source).map_err(at_source)?;
        Ok(Transferred { created: there.is_none() })
    }

    /// Carries out the renaming. Returns the displaced destination, which is still to be removed.
    fn step<'s>(
        &'s self,
        renaming: &Renaming<'s>,
        moved: &Found,
        there: Option<&Found>,
    ) -> Result<Option<Displaced<'s>>, StorageError> {
        let &Renaming { source, old, home, new, to } = renaming;
        // Keeps EXDEV apart from other errors, because it starts a move to another file system.
        let failed = |errno| match errno {
            Errno::XDEV => StorageError::Io("rename", errno),
            errno => StorageError::from_errno("rename")(errno),
        };
        let Some(there) = there else {
            return rename(source, old, home, new, Replace::Never).map(|()| None).map_err(failed);
        };
        if there.is_same_as(moved) {
            return one_name_less(source, old, home, new, moved).map(|()| None);
        }
        if !there.is_directory() && !moved.is_directory() {
            return rename(source, old, home, new, Replace::Always).map(|()| None).map_err(failed);
        }
        if there.device() != moved.device() {
            return Err(StorageError::Io("rename", Errno::XDEV));
        }
        let now = Self::look(home, new)?.ok_or(StorageError::NotFound)?;
        if (there.is_directory() || now.is_directory()) && !now.is_still(there) {
            // The caller has permitted the removal of the first directory, not of what is in its place now.
            return Err(StorageError::Exists);
        }
        let displaced = Displaced::take(self, home, &to.parent().unwrap_or_default(), new, Some(moved))?;
        if let Err(errno) = rename(source, old, home, new, Replace::Never) {
            displaced.restore()?;
            return Err(failed(errno));
        }
        Ok(Some(displaced))
    }

    /// Returns whether both names are one entry of one directory, although their paths differ: through a
    /// link, or because the directory is mounted twice.
    fn is_one_entry(
        source: &OwnedFd,
        old: &[u8],
        home: &OwnedFd,
        new: &[u8],
        moved: &Found,
        there: Option<&Found>,
    ) -> Result<bool, StorageError> {
        let is_one_file = there.is_some_and(|there| there.is_same_as(moved));
        // A directory has only one entry. It appears at two only if it is mounted twice.
        Ok(is_one_file
            && (moved.is_directory() || old == new && Found::of(source)?.is_same_as(&Found::of(home)?)))
    }
}

/// Moves a file to another of its own names (hard links).
fn one_name_less(
    source: &OwnedFd,
    old: &[u8],
    home: &OwnedFd,
    new: &[u8],
    moved: &Found,
) -> Result<(), StorageError> {
    let is_one_directory = Found::of(source)?.is_same_as(&Found::of(home)?);
    // On a file system that ignores case, the two names may be one entry, so that an unlink would remove the
    // file.
    if moved.names() < 2 || is_one_directory && !has_both(home, old, new)? {
        return rename(source, old, home, new, Replace::Always).map_err(StorageError::from_errno("rename"));
    }
    // rename(2) does nothing when both names are the same file, so the old name is removed instead.
    unlinkat(source, old, AtFlags::empty()).map_err(StorageError::from_errno("unlink"))
}

/// Returns whether a directory lists both names.
fn has_both(directory: &OwnedFd, one: &[u8], other: &[u8]) -> Result<bool, StorageError> {
    let mut found = (false, false);
    let mut members = Dir::read_from(directory).map_err(StorageError::from_errno("open"))?;
    while let Some(read) = members.read() {
        let read = read.map_err(StorageError::from_errno("getdents"))?;
        let name = read.file_name().to_bytes();
        found = (found.0 || name == one, found.1 || name == other);
    }
    Ok(found == (true, true))
}

struct Renaming<'a> {
    source: &'a OwnedFd,
    old: &'a [u8],
    home: &'a OwnedFd,
    new: &'a [u8],
    to: &'a DavPath,
}

/// Copies a file's side-store notes to its new place. A directory has its notes within itself.
fn carry_notes(
    source: &OwnedFd,
    old: &[u8],
    home: &OwnedFd,
    new: &[u8],
    moved: &Found,
) -> Result<(), StorageError> {
    if moved.is_directory() {
        return Ok(());
    }
    let own = |fd: &OwnedFd| fd.try_clone().map_err(|_| StorageError::Cancelled);
    notes::carry(
        &Side::of_file(own(source)?, old, moved.inode()),
        &Side::of_file(own(home)?, new, moved.inode()),
    )
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::sync::atomic::Ordering;
    use std::sync::mpsc;

    use weir_dav::path::PathLimits;
    use weir_testkit::{PATIENCE, wait_until};

    use super::*;
    use crate::{Moving, NodeId, Step, TreeOptions};

    const OVERWRITE: CopyOptions = CopyOptions { deep: true, overwrite: true, durability: Durability::None };
    static GO_ON: AtomicBool = AtomicBool::new(false);

    fn path(text: &str) -> DavPath {
        DavPath::parse(text.as_bytes(), &PathLimits::NONE).unwrap().path
    }

    #[test]
    fn a_move_and_a_copy_wait_for_who_is_about_to_replace_the_same_file() {
        type Change = fn(&Arc<Tree>, &dyn Fn());
        let changes: [Change; 2] = [
            |tree, ready| {
                let mut gate = |step: &mut Step<'_>, _: Option<&Moving<'_>>| {
                    ready();
                    step()
                };
                tree.rename_through(&path("/from"), &path("/to"), OVERWRITE, &GO_ON, &mut gate).unwrap();
            },
            |tree, ready| {
                let mut gate = |step: &mut Step<'_>| {
                    ready();
                    step()
                };
                let mut may = |_: &DavPath, _| true;
                tree.copy_through(&path("/from"), &path("/to"), OVERWRITE, &mut may, &GO_ON, &mut gate)
                    .unwrap();
            },
        ];
        for change in changes {
            let directory = tempfile::tempdir().unwrap();
            for name in ["from", "to"] {
                fs::write(directory.path().join(name), name).unwrap();
            }
            let options = TreeOptions::new(NodeId::new("one").unwrap(), 1);
            let tree = Tree::open_root(directory.path(), options).unwrap();
            let (told, thread) = mpsc::channel();
            let is_over = AtomicBool::new(false);
            let turn = tree.turn(&path("/to")).unwrap();
            std::thread::scope(|scope| {
                let changing = scope.spawn(|| {
                    told.send(fs::read_link("/proc/thread-self").unwrap()).unwrap();
                    // The thread sleeps only while it waits for its turn.
                    change(&tree, &|| assert!(is_over.load(Ordering::Relaxed), "it did not wait"));
                });
                let stat = Path::new("/proc").join(thread.recv().unwrap()).join("stat");
                let is_asleep = || {
                    // The state follows the name, which is in brackets.
                    let stat = fs::read_to_string(&stat).unwrap_or_default();
                    stat.rsplit(')').next().is_some_and(|rest| rest.starts_with(" S"))
                };
                wait_until("it waits", PATIENCE, || changing.is_finished() || is_asleep());
                assert!(!changing.is_finished());
                assert_eq!(fs::read(directory.path().join("to")).unwrap(), b"to");
                is_over.store(true, Ordering::Relaxed);
                drop(turn);
            });
            assert_eq!(fs::read(directory.path().join("to")).unwrap(), b"from");
        }
    }
}
