use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use weir_dav::path::DavPath;

use crate::metadata::Found;
use crate::remove::open_directory;
use crate::{Metadata, StorageError, reserved};

/// What is about to go to another file system, where a complete copy of it waits for its name. It is out of sight: what has its path
/// by now, if anything has, is something else and is not moved.
#[derive(Debug)]
pub struct Moving<'a> {
    /// Where it was, and what requests call it.
    pub(crate) path: &'a DavPath,
    /// What was copied, which it still is.
    pub(crate) source: &'a Metadata,
    /// The directory that it is in now, and its name there.
    pub(crate) home: &'a OwnedFd,
    pub(crate) name: &'a [u8],
}

impl Moving<'_> {
    /// What is moved, as it was copied.
    pub fn source(&self) -> &Metadata {
        self.source
    }

    /// What is moved from this path, which is that of the whole or one below it; `None` if it is another. Blocks.
    pub fn metadata(&self, path: &DavPath) -> Option<Result<Metadata, StorageError>> {
        let below = path.strip_prefix(self.path)?;
        Some(if below.is_root() { Ok(*self.source) } else { self.member(&below) })
    }

    fn member(&self, below: &DavPath) -> Result<Metadata, StorageError> {
        reserved::check(below)?;
        let directory = open_directory(self.home, self.name).map_err(StorageError::from_errno("open"))?;
        // A directory with links in it does not go to another file system.
        let how = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let member = openat2(&directory, below.relative_bytes(), flags, Mode::empty(), how)
            .map_err(StorageError::from_errno("openat2"))?;
        Found::of(member)?.metadata()
    }
}
