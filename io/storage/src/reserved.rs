//! The names that Weir keeps for itself in the directories that it serves. No client can see or name them.

use weir_dav::path::DavPath;

use crate::StorageError;

/// What every reserved name begins with.
const PREFIX: &[u8] = b".weir-";

/// What is not complete, or on its way out: `.weir-tmp~NODE~BOOT~NUMBER`.
pub(crate) const TEMPORARY: &str = ".weir-tmp~";

/// What is out of sight for a moment and comes back if the process dies: `.weir-old~NODE~BOOT~NUMBER/NAME`; with `~SUCCESSOR`
/// behind the number it is removed if that, see [`Found::identity`](crate::metadata::Found::identity), has its place by then.
pub(crate) const DISPLACED: &str = ".weir-old~";

/// What has come of an upload that comes in several requests: `.weir-part~ID`.
pub(crate) const PARTIAL: &str = ".weir-part~";

/// The directory, in the root, of what concerns the whole tree: locks, journals.
pub(crate) const STORE: &str = ".weir-store";

/// Whether clients must not see this name.
pub(crate) fn is_reserved(name: &[u8]) -> bool {
    // Some file systems take both cases for the same.
    name.get(..PREFIX.len()).is_some_and(|start| start.eq_ignore_ascii_case(PREFIX))
}

/// Refuses paths that have a reserved name in them.
pub(crate) fn check(path: &DavPath) -> Result<(), StorageError> {
    if path.segments().any(is_reserved) { Err(StorageError::Refused) } else { Ok(()) }
}
