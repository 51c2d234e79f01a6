//! Reads paths of files and directories.

use std::path::PathBuf;

use crate::syntax::tree::short;
use crate::values::table::Table;

/// Reads a path, or the default of its key. Reports an empty path.
pub(crate) fn path(table: &Table<'_, '_>, key: &str) -> PathBuf {
    if let Some(text) = table.text_if(key)
        && (text.value.is_empty() || text.value.contains('\0'))
    {
        table.error(key, text.span, "expected a path");
    }
    PathBuf::from(table.text(key))
}

/// Reads a path if its key is there.
pub(crate) fn path_if(table: &Table<'_, '_>, key: &str) -> Option<PathBuf> {
    table.get(key).map(|_| path(table, key))
}

/// Reads a path that must begin with a slash.
pub(crate) fn absolute(table: &Table<'_, '_>, key: &str) -> Option<PathBuf> {
    let node = table.get(key).filter(|node| node.text().is_some())?;
    let found = path(table, key);
    if !found.is_absolute() && !found.as_os_str().is_empty() {
        table.error(key, node.span, format!("{:?} does not begin with a /", short(&found.to_string_lossy())));
    }
    Some(found)
}
