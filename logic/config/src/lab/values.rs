//! Reads values that several parts of a scenario share.

use crate::syntax::source::Span;
use crate::syntax::tree::Node;
use crate::values::scalar;
use crate::values::table::Table;

/// Returns the position of a key's value, or of its table if the key is absent.
pub(super) fn span_of(table: &Table<'_, '_>, key: &str) -> Span {
    table.get(key).map_or(table.span(), |node| node.span)
}

/// Reads a list of sizes, in bytes.
pub(super) fn sizes(table: &Table<'_, '_>, key: &str) -> Vec<u64> {
    let size = |node: &Node| scalar::size(node.text()?, 0, 1 << 40).ok().map(|size| size.0);
    table.many(key).iter().filter_map(size).collect()
}
