//! Prints `[listener.NAME.paths]`.

use weir_http::{AboveRoot, Backslash, BadEscape, EncodedNul, EncodedSlash, PathParameters, PathRules};

use crate::common::writer::Writer;

/// Prints the path rules of a listener.
pub(crate) fn print(writer: &mut Writer, name: &str, rules: &PathRules) {
    writer.table(&format!("[listener.{name}.paths]"));
    writer.key("merge-slashes", rules.merge_slashes);
    writer.key(
        "encoded-slash",
        match rules.encoded_slash {
            EncodedSlash::Refuse => "refuse",
            EncodedSlash::Keep => "keep",
            EncodedSlash::Decode => "decode",
        },
    );
    writer.key(
        "backslash",
        match rules.backslash {
            Backslash::Refuse => "refuse",
            Backslash::Keep => "keep",
            Backslash::Slash => "slash",
        },
    );
    writer.key(
        "parameters",
        match rules.parameters {
            PathParameters::Ignore => "ignore",
            PathParameters::Keep => "keep",
            PathParameters::Refuse => "refuse",
        },
    );
    writer.key(
        "above-root",
        match rules.above_root {
            AboveRoot::Refuse => "refuse",
            AboveRoot::Stay => "stay",
        },
    );
    writer.key(
        "bad-escape",
        match rules.bad_escape {
            BadEscape::Refuse => "refuse",
            BadEscape::Keep => "keep",
        },
    );
    writer.key(
        "nul",
        match rules.nul {
            EncodedNul::Refuse => "refuse",
            EncodedNul::Keep => "keep",
        },
    );
}
