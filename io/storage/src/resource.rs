//! Files and directories that are open for access to their notes.

use rustix::fd::OwnedFd;
use rustix::fs::OFlags;
use weir_dav::path::DavPath;

use crate::metadata::Found;
use crate::notes::Side;
use crate::{Metadata, StorageError, Tree};

/// A file or directory that is open for access to its notes.
#[derive(Debug)]
pub(crate) struct Resource {
    pub(crate) fd: OwnedFd,
    pub(crate) metadata: Metadata,
}

impl Tree {
    /// Opens a file or directory.
    pub(crate) fn resource(&self, path: &DavPath) -> Result<Resource, StorageError> {
        let fd = self.resolve(path, OFlags::RDONLY)?;
        let metadata = Found::of(&fd)?.metadata()?;
        Ok(Resource { fd, metadata })
    }

    /// Returns the location of the notes of what is at a path in a side store.
    pub(crate) fn side(&self, path: &DavPath, metadata: &Metadata) -> Result<Side, StorageError> {
        if metadata.is_directory() {
            return self.resolve_directory(path).map(Side::of_directory);
        }
        let (home, name) = self.resolve_parent(path)?;
        Ok(Side::of_file(home, name, metadata.inode))
    }
}
