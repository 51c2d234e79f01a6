//! Listings of directories.

use std::sync::Arc;

use rustix::fs::Dir;
use weir_dav::path::DavPath;

use crate::metadata::Found;
use crate::notes::{self, Note};
use crate::{Metadata, StorageError, Tree, reserved};

/// Members of a directory in the order of the file system, read in batches, so that a directory of a million
/// members needs the memory of one batch. Members that are created or removed meanwhile may be missing or
/// present.
#[derive(Debug)]
pub struct Listing {
    tree: Arc<Tree>,
    path: DavPath,
    directory: Dir,
    /// Set when the directory has a side store, so that some notes are there.
    has_side: bool,
}

/// A member of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Name: any bytes but `/` and NUL.
    pub name: Vec<u8>,
    /// Metadata; for a symbolic link, that of its target.
    pub metadata: Metadata,
    /// True for a symbolic link. A link to a directory may lead back to one of its parents: do not descend
    /// into it.
    pub link: bool,
}

impl Listing {
    pub(crate) fn new(tree: Arc<Tree>, path: DavPath, directory: Dir) -> Self {
        let has_side = directory.fd().map_or(true, notes::has_side);
        Self { tree, path, directory, has_side }
    }

    /// Returns whether a member may have dead properties, without opening it. Blocks.
    pub fn may_have_properties(&self, entry: &Entry) -> bool {
        if self.has_side || entry.link || entry.metadata.is_directory() {
            return true;
        }
        self.directory.fd().map_or(true, |fd| notes::has_attribute(fd, &entry.name, Note::Properties))
    }

    /// Returns up to `max` more members, at least one, or none at the end. Blocks. Leaves out what clients
    /// cannot use: anything but files and directories, links that the policy forbids or that lead nowhere,
    /// and Weir's own files.
    pub fn next_batch(&mut self, max: usize) -> Result<Vec<Entry>, StorageError> {
        let mut batch = Vec::new();
        while batch.len() < max.max(1) {
            let Some(read) = self.directory.read() else { break };
            let read = read.map_err(StorageError::from_errno("getdents"))?;
            let name = read.file_name().to_bytes();
            if matches!(name, b"." | b"..") || reserved::is_reserved(name) {
                continue;
            }
            match self.entry(name) {
                Ok(entry) => batch.push(entry),
                // The member was removed meanwhile, or clients cannot use it.
                Err(StorageError::NotFound | StorageError::Refused) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(batch)
    }

    fn entry(&self, name: &[u8]) -> Result<Entry, StorageError> {
        let directory = self.directory.fd().map_err(StorageError::from_errno("readdir"))?;
        let found = Found::in_directory(directory, name)?;
        let metadata = if found.is_link() {
            // A relative target may lead above this directory, but not above the root. So the link is
            // resolved from the root.
            let path = self.path.join(name).map_err(|_| StorageError::Refused)?;
            self.tree.metadata(&path)?
        } else {
            found.metadata()?
        };
        Ok(Entry { name: name.to_vec(), metadata, link: found.is_link() })
    }
}
