//! Reads addresses to bind.

use weir_model::BindAddress;

use crate::syntax::source::Located;
use crate::values::table::Table;

/// Reads one or several addresses. Reports each value that is not an address.
pub(crate) fn addresses(table: &Table<'_, '_>, key: &str) -> Vec<Located<BindAddress>> {
    table.many(key).iter().filter_map(|node| table.parse_node(key, node)).collect()
}
