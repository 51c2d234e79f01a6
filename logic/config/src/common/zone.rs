//! Reads zone names.

use weir_model::ZoneName;

use crate::values::table::Table;

/// Reads the zone at the key `zone`.
pub(crate) fn zone_name(table: &Table<'_, '_>) -> Option<ZoneName> {
    name(table, "zone")
}

/// Reads the zone at a key. Reports a text that is not a zone name.
pub(crate) fn name(table: &Table<'_, '_>, key: &str) -> Option<ZoneName> {
    let text = table.text_if(key)?;
    match ZoneName::new(&text.value) {
        Ok(name) => Some(name),
        Err(cause) => {
            table.error(key, text.span, cause);
            None
        }
    }
}
