//! Checks whether the acting user may change something, before anything is changed. These checks are only a
//! forecast: the kernel checks each change again when it is made.

use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Access, AtFlags, OFlags, accessat};
use rustix::process::geteuid;
use weir_dav::path::DavPath;

use crate::metadata::Found;
use crate::tree_walk::survey_found;
use crate::{StorageError, Tree, reserved};

/// The sticky bit of a directory: only owners may remove or replace members (inode(7)).
const STICKY: u16 = 0o1000;

impl Tree {
    /// Refuses unless the acting user may change what is at a path. For a directory this means its content;
    /// for a file or a path that does not exist yet, the entry with its name. Blocks.
    ///
    /// # Errors
    /// [`StorageError::Refused`] if the user may not, or if the file system is mounted read-only.
    pub fn require_changeable(&self, path: &DavPath) -> Result<(), StorageError> {
        if !path.is_root() {
            let (home, name) = self.resolve_parent(path)?;
            let is_directory = match self.metadata(path) {
                Ok(metadata) => metadata.is_directory(),
                Err(StorageError::NotFound) => false,
                Err(error) => return Err(error),
            };
            if !is_directory {
                may_write(&home, ".")?;
                let found = Self::look(&home, name)?;
                return found.map_or(Ok(()), |found| may_replace(&home, &found));
            }
        }
        may_write(&self.resolve(path, OFlags::PATH | OFlags::DIRECTORY)?, ".")
    }

    /// Calls `visit` for everything below a directory, as [`Self::survey`] does, with the path, whether it is
    /// a directory, and whether the acting user may change it. Blocks.
    pub fn survey_changeable(
        &self,
        path: &DavPath,
        visit: &mut dyn FnMut(&DavPath, bool, bool) -> Result<(), StorageError>,
    ) -> Result<(), StorageError> {
        let top = self.resolve_directory(path)?;
        survey_found(top, path, &reserved::is_reserved, &mut |path, found, home| {
            let permitted = match path.name() {
                Some(name) if found.is_directory() => may_write(home, name),
                // The containing directory was checked before; only its sticky bit can forbid the change.
                _ => may_replace(home, found),
            };
            match permitted {
                Ok(()) => visit(path, found.is_directory(), true),
                Err(StorageError::Refused) => visit(path, found.is_directory(), false),
                Err(StorageError::NotFound) => Ok(()),
                Err(error) => Err(error),
            }
        })
    }
}

/// Refuses unless the permissions of a directory allow to create and remove members.
fn may_write(home: &OwnedFd, name: impl rustix::path::Arg) -> Result<(), StorageError> {
    let access = Access::WRITE_OK | Access::EXEC_OK;
    let flags = AtFlags::EACCESS | AtFlags::SYMLINK_NOFOLLOW;
    accessat(home, name, access, flags).map_err(StorageError::from_errno("faccessat2"))
}

/// Refuses unless a member may be replaced in a writable directory, whose sticky bit may forbid it.
fn may_replace(home: impl AsFd, member: &Found) -> Result<(), StorageError> {
    let home = Found::of(home)?;
    let user = geteuid();
    let is_owner = |found: &Found| found.owner() == user.as_raw();
    match home.mode() & STICKY == 0 || user.is_root() || is_owner(&home) || is_owner(member) {
        true => Ok(()),
        false => Err(StorageError::Refused),
    }
}
