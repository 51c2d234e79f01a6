//! Uploads whose pieces come in any order: several connections bring one file.

use std::sync::Arc;

use weir_dav::digest::Algorithm;
use weir_dav::path::DavPath;

use super::Upload;
use crate::{Disk, StorageError, Tree, notes};

impl Upload {
    /// Begins to take the content of a file of `length` bytes piece by piece, in any order ([`Self::write_at`]). Its checksums are
    /// computed when all of it is there, by reading it once.
    pub fn begin_scattered(
        tree: &Arc<Tree>,
        disk: &Disk,
        path: &DavPath,
        algorithms: &[Algorithm],
        length: u64,
    ) -> Result<Self, StorageError> {
        let mut upload = Self::begin(tree, disk, path, algorithms, Some(length))?;
        upload.hashers.clear();
        Ok(upload)
    }

    /// Takes a piece of an upload that was begun so; several threads may do this at once.
    pub fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<(), StorageError> {
        notes::write_all(self.file.fd()?, bytes, offset)
    }

    /// Says that every piece of such an upload was taken, `length` bytes in all.
    pub fn scattered(&mut self, length: u64) {
        (self.offset, self.received) = (length, length);
    }
}
