//! The error of a change to many files, with the path that it happened at.

use weir_dav::path::DavPath;

use crate::StorageError;

/// First error of a change to many files.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {error}")]
pub struct Failure {
    /// Path of the error: the target, or something below it.
    pub path: DavPath,
    /// Cause.
    pub error: StorageError,
}
