//! Formats distinguished names for rules, headers and logs (RFC 4514, and RFC 2253 before it). The last part
//! comes first. Values are escaped, so that no value looks like another part.

use std::fmt::Write;

use x509_parser::x509::{AttributeTypeAndValue, X509Name};

/// Common names of attribute types; all others use their number.
const TYPES: [(&str, &str); 14] = [
    ("2.5.4.3", "CN"),
    ("2.5.4.4", "SN"),
    ("2.5.4.5", "serialNumber"),
    ("2.5.4.6", "C"),
    ("2.5.4.7", "L"),
    ("2.5.4.8", "ST"),
    ("2.5.4.9", "street"),
    ("2.5.4.10", "O"),
    ("2.5.4.11", "OU"),
    ("2.5.4.12", "title"),
    ("2.5.4.42", "GN"),
    ("0.9.2342.19200300.100.1.1", "UID"),
    ("0.9.2342.19200300.100.1.25", "DC"),
    ("1.2.840.113549.1.9.1", "emailAddress"),
];

/// Formats a name: `CN=Jo,O=Example,C=IT`.
pub(super) fn text_of(name: &X509Name<'_>) -> String {
    let mut text = String::new();
    let parts: Vec<_> = name.iter().collect();
    for part in parts.into_iter().rev() {
        for (at, attribute) in part.iter().enumerate() {
            match (text.is_empty(), at) {
                (true, _) => {}
                (false, 0) => text.push(','),
                (false, _) => text.push('+'),
            }
            let kind = attribute.attr_type().to_id_string();
            let known = TYPES.iter().find(|(number, _)| *number == kind);
            text.push_str(known.map_or(&kind, |(_, name)| name));
            text.push('=');
            append_value(&mut text, attribute);
        }
    }
    text
}

fn append_value(text: &mut String, attribute: &AttributeTypeAndValue<'_>) {
    let value = attribute.attr_value();
    // Universal tag 30 (BMPString) has two bytes per character; other strings must be UTF-8.
    let plain = match value.tag().0 {
        30 => two_bytes_each(value.data),
        12 | 18..=22 | 25..=27 => std::str::from_utf8(value.data).ok().map(str::to_owned),
        _ => None,
    };
    let Some(plain) = plain else {
        text.push('#');
        for byte in value.data {
            // Writing to a String cannot fail.
            let _ = write!(text, "{byte:02x}");
        }
        return;
    };
    let last = plain.chars().count().saturating_sub(1);
    for (at, c) in plain.chars().enumerate() {
        let is_at_edge = (at == 0 && matches!(c, ' ' | '#')) || (at == last && c == ' ');
        match c {
            '\0' => text.push_str("\\00"),
            _ => {
                if is_at_edge || matches!(c, ',' | '+' | '"' | '\\' | '<' | '>' | ';') {
                    text.push('\\');
                }
                text.push(c);
            }
        }
    }
}

fn two_bytes_each(bytes: &[u8]) -> Option<String> {
    let (pairs, []) = bytes.as_chunks::<2>() else { return None };
    char::decode_utf16(pairs.iter().map(|pair| u16::from_be_bytes(*pair))).collect::<Result<_, _>>().ok()
}

#[cfg(test)]
mod tests {
    use x509_parser::prelude::FromDer;

    use super::*;

    fn der(tag: u8, content: &[u8]) -> Vec<u8> {
        [&[tag, u8::try_from(content.len()).unwrap()], content].concat()
    }

    const CN: &[u8] = &[0x55, 4, 3];
    const O: &[u8] = &[0x55, 4, 10];
    const C: &[u8] = &[0x55, 4, 6];
    const DC: &[u8] = &[9, 0x92, 0x26, 0x89, 0x93, 0xf2, 0x2c, 0x64, 1, 25];
    const UNKNOWN: &[u8] = &[0x2a, 3, 4];

    /// Type of an attribute, tag of its value, and the value.
    type Attribute<'a> = (&'a [u8], u8, &'a [u8]);

    /// Formats a name of these parts.
    fn text(parts: &[&[Attribute<'_>]]) -> String {
        let part = |attributes: &&[Attribute<'_>]| {
            let attributes: Vec<u8> = attributes
                .iter()
                .flat_map(|(kind, tag, value)| der(0x30, &[der(6, kind), der(*tag, value)].concat()))
                .collect();
            der(0x31, &attributes)
        };
        let name = der(0x30, &parts.iter().flat_map(part).collect::<Vec<u8>>());
        text_of(&X509Name::from_der(&name).unwrap().1)
    }

    #[test]
    fn the_last_part_comes_first() {
        let name = text(&[&[(C, 19, b"IT")], &[(O, 12, b"Example")], &[(CN, 12, "Jo \u{e9}".as_bytes())]]);
        assert_eq!(name, "CN=Jo \u{e9},O=Example,C=IT");
        let name = text(&[&[(DC, 22, b"ch")], &[(DC, 22, b"cern")], &[(CN, 12, b"a"), (UNKNOWN, 12, b"b")]]);
        assert_eq!(name, "CN=a+1.2.3.4=b,DC=cern,DC=ch");
        assert_eq!(text(&[]), "");
    }

    /// A user who chooses a part of their name must not be able to impersonate another user.
    #[test]
    fn no_value_looks_like_another_part() {
        assert_eq!(text(&[&[(CN, 12, b"Jo,O=Admin")]]), "CN=Jo\\,O=Admin");
        assert_ne!(text(&[&[(CN, 12, b"Jo+O=Admin")]]), text(&[&[(CN, 12, b"Jo"), (O, 12, b"Admin")]]));
        assert_eq!(text(&[&[(CN, 12, b" a \\\"<>; ")]]), "CN=\\ a \\\\\\\"\\<\\>\\;\\ ");
        assert_eq!(text(&[&[(CN, 12, b"#41")]]), "CN=\\#41");
        assert_eq!(text(&[&[(CN, 4, b"A")]]), "CN=#41");
        assert_eq!(text(&[&[(CN, 20, b"\xe9")]]), "CN=#e9");
        assert_eq!(text(&[&[(CN, 30, b"\0J\0o")]]), "CN=Jo");
        assert_eq!(text(&[&[(CN, 30, b"\0J\0")]]), "CN=#004a00");
        assert_eq!(text(&[&[(CN, 12, b"a\0b")]]), "CN=a\\00b");
    }
}
