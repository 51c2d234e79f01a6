//! Escaping of text and attributes.

use std::fmt::Write as _;

use super::chars::is_xml;

/// Appends text such that it parses back unchanged. Replaces characters that XML cannot contain with U+FFFD.
pub(crate) fn text(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\r' => out.push_str("&#13;"),
            c if is_xml(c) => out.push(c),
            _ => out.push(char::REPLACEMENT_CHARACTER),
        }
    }
}

/// Appends an attribute, with a space before it.
pub(crate) fn attribute(out: &mut String, name: &str, value: &str) {
    out.push(' ');
    out.push_str(name);
    out.push_str("=\"");
    for c in value.chars() {
        match c {
            '"' => out.push_str("&quot;"),
            // A parser would turn other white space in an attribute into spaces.
            '\t' | '\n' => {
                let _ = write!(out, "&#{};", u32::from(c));
            }
            c => text(out, c.encode_utf8(&mut [0; 4])),
        }
    }
    out.push('"');
}
