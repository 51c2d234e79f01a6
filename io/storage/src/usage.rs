//! Free and used space of the file systems below a tree.

use rustix::fs::{OFlags, fstatvfs};
use weir_dav::path::DavPath;

use crate::{StorageError, Tree};

/// Free and used space of a path's file system (RFC 4331).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Bytes of the file system.
    pub total: u64,
    /// Bytes that files use.
    pub used: u64,
    /// Bytes that this process may still use.
    pub available: u64,
}

impl Tree {
    /// Returns the free and used space of a path's file system. Blocks.
    pub fn usage(&self, path: &DavPath) -> Result<Usage, StorageError> {
        let fd = self.resolve(path, OFlags::PATH)?;
        let found = fstatvfs(fd).map_err(StorageError::from_errno("fstatvfs"))?;
        let bytes = |blocks: u64| blocks.saturating_mul(found.f_frsize);
        Ok(Usage {
            total: bytes(found.f_blocks),
            used: bytes(found.f_blocks.saturating_sub(found.f_bfree)),
            available: bytes(found.f_bavail),
        })
    }
}
