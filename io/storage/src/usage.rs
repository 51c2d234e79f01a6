use rustix::fs::{OFlags, fstatvfs};
use weir_dav::path::DavPath;

use crate::{StorageError, Tree};

/// How full the file system is that a path is on (RFC 4331).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Bytes in all.
    pub total: u64,
    /// Bytes that files take up.
    pub used: u64,
    /// Bytes that this process may still use.
    pub available: u64,
}

impl Tree {
    /// How full the file system is. Blocks.
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
