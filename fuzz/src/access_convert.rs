//! Configurations of StoRM: any text becomes TOML that can be read, and notes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_access::convert::{Source, convert_storm};

fuzz_target!(|text: &str| {
    let (area, application) = text.split_once("\n---\n").unwrap_or((text, text));
    let area = Source { name: "a.properties", text: area };
    let application = Source { name: "application.yml", text: application };
    let Ok(converted) = convert_storm(&[area], &[application]) else { return };
    let read: Result<toml::Table, _> = converted.toml.parse();
    assert!(read.is_ok(), "{read:?}\n{}", converted.toml);
});
