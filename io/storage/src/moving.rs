//! Files and directories that are moving to another file system.

use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use weir_dav::path::DavPath;

use crate::metadata::Found;
use crate::tree_walk::open_directory;
use crate::{Metadata, StorageError, reserved};

/// A file or directory that is moving to another file system, where its complete copy waits for its name. It
/// is displaced: anything at its old path by now is something else and is not moved.
#[derive(Debug)]
pub struct Moving<'a> {
    /// Path from which it is moved, as in the request.
    pub(crate) path: &'a DavPath,
    /// Metadata of the source when it was copied; it has not changed since.
    pub(crate) source: &'a Metadata,
    /// Directory that holds it now, and its name there.
    pub(crate) home: &'a OwnedFd,
    pub(crate) name: &'a [u8],
}

impl Moving<'_> {
    /// Returns the source's metadata when it was copied.
    pub fn source(&self) -> &Metadata {
        self.source
    }

    /// Returns the metadata of a member by its old path, which may be that of the source itself. `None` for
    /// any other path. Blocks.
    pub fn metadata(&self, path: &DavPath) -> Option<Result<Metadata, StorageError>> {
        let below = path.strip_prefix(self.path)?;
        Some(if below.is_root() { Ok(*self.source) } else { self.member(&below) })
    }

    fn member(&self, below: &DavPath) -> Result<Metadata, StorageError> {
        reserved::check(below)?;
        let directory = open_directory(self.home, self.name).map_err(StorageError::from_errno("open"))?;
        // A directory that contains links cannot move to another file system.
        let how = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let member = openat2(&directory, below.relative_bytes(), flags, Mode::empty(), how)
            .map_err(StorageError::from_errno("openat2"))?;
        Found::of(member)?.metadata()
    }
}
