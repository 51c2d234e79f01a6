//! Reads a set of keys of which exactly one must be present.

use crate::syntax::diagnostic::Problem;
use crate::syntax::tree::Node;
use crate::values::table::Table;

/// Returns the one of these keys that is present. Reports an error if none or several are present.
pub(crate) fn exactly_one<T, const N: usize>(
    table: &Table<'_, '_>,
    keys: [(&'static str, T); N],
) -> Option<(&'static str, T)> {
    let names = keys.iter().map(|(key, _)| *key).collect::<Vec<_>>().join(", ");
    let mut there = keys.into_iter().filter(|(key, _)| table.get(key).is_some());
    match (there.next(), there.next()) {
        (Some(one), None) => return Some(one),
        (Some((first, _)), Some((second, _))) => {
            let span = |key| table.get(key).map_or(table.span(), |node: &Node| node.span);
            let problem =
                Problem::error(span(second), format!("{}: only one of {names} can be there", table.subject));
            table.cx.report(problem.also(span(first), "the other"));
        }
        _ if table.cx.is_incomplete() => {}
        _ => table.cx.error(table.span(), format!("{}: one of {names} is missing", table.subject)),
    }
    None
}
