//! Names that Weir reserves in the directories that it serves. Clients can neither see nor use them.

use weir_dav::path::DavPath;

use crate::StorageError;

/// Prefix of every reserved name.
const PREFIX: &[u8] = b".weir-";

/// Prefix of incomplete files and of files that are being removed: `.weir-tmp~NODE~BOOT~NUMBER`.
pub(crate) const TEMPORARY: &str = ".weir-tmp~";

/// Prefix of directories for displaced files, which return if the process dies:
/// `.weir-old~NODE~BOOT~NUMBER/NAME`. With `~SUCCESSOR` after the number, the file is removed instead if its
/// successor has its name by then (see [`Found::identity`](crate::metadata::Found::identity)).
pub(crate) const DISPLACED: &str = ".weir-old~";

/// Prefix of the data of an upload that takes several requests: `.weir-part~ID`.
pub(crate) const PARTIAL: &str = ".weir-part~";

/// Directory in the root for data about the whole tree, such as locks and journals.
pub(crate) const STORE: &str = ".weir-store";

/// Returns whether a name is reserved, so that clients must not see it.
pub(crate) fn is_reserved(name: &[u8]) -> bool {
    // Some file systems ignore case.
    name.get(..PREFIX.len()).is_some_and(|start| start.eq_ignore_ascii_case(PREFIX))
}

/// Refuses a path that contains a reserved name.
pub(crate) fn check(path: &DavPath) -> Result<(), StorageError> {
    if path.segments().any(is_reserved) { Err(StorageError::Refused) } else { Ok(()) }
}
