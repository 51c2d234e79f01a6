//! Reads `[listener.NAME.paths]`.

use weir_http::{AboveRoot, Backslash, BadEscape, EncodedNul, EncodedSlash, PathParameters, PathRules};

use crate::values::table::Table;

/// Reads the path rules; `None` = paths stay as the client sent them.
pub(crate) fn read(listener: &Table<'_, '_>) -> Option<PathRules> {
    if listener.is_off("paths") {
        return None;
    }
    let table = listener.table("paths");
    Some(PathRules {
        merge_slashes: table.flag("merge-slashes"),
        encoded_slash: match table.text("encoded-slash").as_str() {
            "keep" => EncodedSlash::Keep,
            "decode" => EncodedSlash::Decode,
            _ => EncodedSlash::Refuse,
        },
        backslash: match table.text("backslash").as_str() {
            "keep" => Backslash::Keep,
            "slash" => Backslash::Slash,
            _ => Backslash::Refuse,
        },
        parameters: match table.text("parameters").as_str() {
            "keep" => PathParameters::Keep,
            "refuse" => PathParameters::Refuse,
            _ => PathParameters::Ignore,
        },
        above_root: match table.text("above-root").as_str() {
            "stay" => AboveRoot::Stay,
            _ => AboveRoot::Refuse,
        },
        bad_escape: match table.text("bad-escape").as_str() {
            "keep" => BadEscape::Keep,
            _ => BadEscape::Refuse,
        },
        nul: match table.text("nul").as_str() {
            "keep" => EncodedNul::Keep,
            _ => EncodedNul::Refuse,
        },
    })
}
