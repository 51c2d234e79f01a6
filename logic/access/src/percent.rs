//! Percent-decoding (RFC 3986 section 2.1), once. A `%` without two hexadecimal digits is an error here, never a guess.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Decodes every `%XX` of `text` once. `None`: a `%` that no two hexadecimal digits follow.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        if first == b'%' {
            let (high, low) = (hex(*after.first()?)?, hex(*after.get(1)?)?);
            bytes.push(high << 4 | low);
            rest = after.get(2..)?;
        } else {
            bytes.push(first);
            rest = after;
        }
    }
    Some(bytes)
}

/// As [`decode`], but leaves what is no escape as it stands.
pub(crate) fn decode_leniently(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        let escape = text.get(at + 1..at + 3).and_then(|pair| Some(hex(pair[0])? << 4 | hex(pair[1])?));
        match escape.filter(|_| byte == b'%') {
            Some(decoded) => {
                bytes.push(decoded);
                at += 3;
            }
            None => {
                bytes.push(byte);
                at += 1;
            }
        }
    }
    bytes
}

/// Decodes one name or value of `application/x-www-form-urlencoded` (WHATWG URL section 5.1): `+` is a space.
pub(crate) fn decode_form(text: &str) -> Option<String> {
    String::from_utf8(decode(&text.replace('+', " "))?).ok()
}

/// A name as rules have it: text, and what is none (bytes that are not UTF-8, control characters, backslashes) as escapes. A `%`
/// that would begin one of these is itself written as `%25`, so that no two names are written alike.
pub(crate) fn write_name(name: &[u8]) -> Cow<'_, str> {
    // Nearly all are.
    if let Ok(plain) = std::str::from_utf8(name)
        && !plain.contains(|c: char| c == '%' || is_no_text(c))
    {
        return Cow::Borrowed(plain);
    }
    let mut text = String::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        for (at, c) in chunk.valid().char_indices() {
            match c {
                c if is_no_text(c) => escape(&mut text, c.encode_utf8(&mut [0; 4]).as_bytes()),
                '%' if escaped(chunk.valid().as_bytes().get(at..).unwrap_or_default()).is_some() => {
                    text.push_str("%25")
                }
                c => text.push(c),
            }
        }
        escape(&mut text, chunk.invalid());
    }
    Cow::Owned(text)
}

/// The name that [`write_name`] writes so.
pub(crate) fn read_name(text: &str) -> Vec<u8> {
    let mut name = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let escaped = escaped(rest);
        name.push(escaped.unwrap_or(first));
        rest = if escaped.is_some() { after.get(2..).unwrap_or_default() } else { after };
    }
    name
}

/// What stands in a name as rules have it only in escapes.
pub(crate) fn is_no_text(c: char) -> bool {
    c.is_control() || c == '\\'
}

/// The byte for which a text begins with an escape that [`write_name`] writes.
fn escaped(text: &[u8]) -> Option<u8> {
    let &[b'%', high, low, ..] = text else { return None };
    if high.is_ascii_lowercase() || low.is_ascii_lowercase() {
        return None;
    }
    let byte = hex(high)? << 4 | hex(low)?;
    (byte.is_ascii_control() || matches!(byte, b'%' | b'\\' | 0x80..)).then_some(byte)
}

fn escape(text: &mut String, bytes: &[u8]) {
    for byte in bytes {
        // Writing to a String cannot fail.
        let _ = write!(text, "%{byte:02X}");
    }
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}
