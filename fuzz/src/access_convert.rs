//! Fuzzes the conversion of StoRM configurations: any text becomes valid TOML with notes, or an error.

use weir_access::convert::{Source, convert_storm};

/// Runs the target on one input; panics if a property does not hold.
pub fn run(data: &[u8]) {
    let text = crate::text_of(data);
    let (area, application) = text.split_once("\n---\n").unwrap_or((text, text));
    let area = Source { name: "a.properties", text: area };
    let application = Source { name: "application.yml", text: application };
    let Ok(converted) = convert_storm(&[area], &[application]) else { return };
    let read: Result<toml::Table, _> = converted.toml.parse();
    assert!(read.is_ok(), "{read:?}\n{}", converted.toml);
}
