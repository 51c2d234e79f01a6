//! Making directories and moving.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, Mode, mkdirat, unlinkat};
use rustix::io::Errno;
use weir_dav::path::DavPath;

use crate::copy::CopyOptions;
use crate::metadata::Found;
use crate::notes::{self, Side};
use crate::rename::{Replace, rename};
use crate::temporary::Temporary;
use crate::{Durability, Failure, FileKind, StorageError, Tree};

/// What COPY or MOVE came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transferred {
    /// There was nothing at the destination before.
    pub created: bool,
}

impl Tree {
    /// Makes a directory in one that exists. Blocks.
    ///
    /// # Errors
    /// [`StorageError::Exists`] if anything has the name, [`StorageError::ParentMissing`].
    pub fn create_directory(&self, path: &DavPath, durability: Durability) -> Result<(), StorageError> {
        if path.is_root() {
            return Err(StorageError::Exists);
        }
        let (home, name) = self.resolve_parent(path)?;
        let mode = Mode::from_raw_mode(self.options().directory_mode.into());
        mkdirat(&home, name, mode).map_err(StorageError::from_errno("mkdir"))?;
        durability.sync_directory(&home)
    }

    /// Moves a file or a directory with all that is in it. Within a file system this is one step, and nobody sees a part of it;
    /// what is at the destination makes room in that step, or, if one of the two is a directory, just before, and comes back if
    /// the step fails. To another file system it is a copy that becomes visible as a whole, and then the source is removed.
    /// A symbolic link is moved itself, and only within its directory. Blocks.
    ///
    /// # Errors
    /// At the path of [`Failure`]; [`StorageError::Exists`] at `to` without `overwrite`.
    pub fn rename(
        self: &Arc<Self>,
        from: &DavPath,
        to: &DavPath,
        overwrite: bool,
        durability: Durability,
        cancelled: &AtomicBool,
    ) -> Result<Transferred, Failure> {
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
            // From another directory it would lead elsewhere.
            return Err(at_source(StorageError::Refused));
        }
        if there.is_some() && !overwrite {
            return Err(at_destination(StorageError::Exists));
        }
        carry_notes(&source, old, &home, new, &moved).map_err(at_destination)?;
        match self.step(Step { source: &source, old, home: &home, new, to }, &moved, there.as_ref()) {
            Ok(()) => {}
            Err(StorageError::Io(_, Errno::XDEV)) => {
                let options = CopyOptions { deep: true, overwrite, durability };
                self.copy(from, to, options, &mut |_: &DavPath, _: FileKind| true, cancelled)?;
                self.remove(from, durability)?;
                return Ok(Transferred { created: there.is_none() });
            }
            Err(error) => {
                notes::forget(&home, new, moved.inode());
                return Err(at_destination(error));
            }
        }
        notes::forget(&source, old, moved.inode());
        if let Some(there) = &there {
            notes::forget(&home, new, there.inode());
        }
        durability.sync_directory(&home).map_err(at_destination)?;
        durability.sync_directory(&source).map_err(at_source)?;
        Ok(Transferred { created: there.is_none() })
    }

    fn step(&self, step: Step<'_>, moved: &Found, there: Option<&Found>) -> Result<(), StorageError> {
        let Step { source, old, home, new, to } = step;
        // Told apart from other errors: EXDEV means something here.
        let failed = |errno| match errno {
            Errno::XDEV => StorageError::Io("rename", errno),
            errno => StorageError::from_errno("rename")(errno),
        };
        let Some(there) = there else {
            return rename(source, old, home, new, Replace::Never).map_err(failed);
        };
        if there.inode() == moved.inode() && there.device() == moved.device() {
            // Two names of one file: renaming would leave both.
            return unlinkat(source, old, AtFlags::empty()).map_err(StorageError::from_errno("unlink"));
        }
        if !there.is_directory() && !moved.is_directory() {
            return rename(source, old, home, new, Replace::Always).map_err(failed);
        }
        if there.device() != moved.device() {
            return Err(StorageError::Io("rename", Errno::XDEV));
        }
        let own_home = home.try_clone().map_err(|_| StorageError::Cancelled)?;
        let parent = to.parent().unwrap_or_default();
        let mut displaced = Temporary::displace(self, own_home, &parent, new, there.is_directory())?;
        if let Err(errno) = rename(source, old, home, new, Replace::Never) {
            displaced.place(new, Replace::Never)?;
            return Err(failed(errno));
        }
        // What cannot be removed stays out of sight, and is removed at the next start.
        let _ = displaced.remove();
        Ok(())
    }
}

struct Step<'a> {
    source: &'a OwnedFd,
    old: &'a [u8],
    home: &'a OwnedFd,
    new: &'a [u8],
    to: &'a DavPath,
}

/// A directory has its notes within itself; a file's may be in the directory that it leaves.
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
