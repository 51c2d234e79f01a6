//! Uploads whose pieces arrive in any order, because several connections carry one file.

use std::sync::Arc;

use weir_dav::digest::Algorithm;
use weir_dav::path::DavPath;

use super::Upload;
use crate::{Disk, StorageError, Tree, notes};

impl Upload {
    /// Begins to receive a file of `length` bytes as pieces in any order (see [`Self::write_at`]). Its
    /// checksums are computed at the end, by reading the file once.
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

    /// Writes a piece of a scattered upload. Several threads may call this at once.
    pub fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<(), StorageError> {
        notes::write_all(self.file.fd()?, bytes, offset)
    }

    /// Marks a scattered upload of `length` bytes as complete.
    pub fn scattered(&mut self, length: u64) {
        (self.offset, self.received) = (length, length);
    }
}
