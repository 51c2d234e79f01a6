//! Reads the commands that a fleet runs.

use crate::syntax::tree::Node;
use crate::values::table::Table;

/// Reads a program and its arguments.
pub(crate) fn command_of(table: &Table<'_, '_>, key: &str) -> Vec<String> {
    let words = texts(table, key);
    if let (Some(node), true) = (table.get(key), words.first().is_none_or(String::is_empty)) {
        table.error(key, node.span, "there is no program");
    }
    if let (Some(node), true) = (table.get(key), words.iter().any(|word| word.contains('\0'))) {
        table.error(key, node.span, "a NUL cannot stand in a command");
    }
    words
}

/// Reads one or several texts.
pub(crate) fn texts(table: &Table<'_, '_>, key: &str) -> Vec<String> {
    table.many(key).iter().filter_map(Node::text).map(str::to_owned).collect()
}
