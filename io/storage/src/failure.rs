use weir_dav::path::DavPath;

use crate::StorageError;

/// What stood in the way of a change to many files: the first of them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {error}")]
pub struct Failure {
    /// Where: the target, or something below it.
    pub path: DavPath,
    /// What.
    pub error: StorageError,
}
