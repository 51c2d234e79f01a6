//! Percent-decoding (RFC 3986 section 2.1), applied exactly once, and the escapes of file names in rules.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Decodes every `%XX` of `text` once. Returns `None` if a `%` is not followed by two hexadecimal digits.
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

/// Decodes like [`decode`], but copies a `%` that does not start an escape.
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

/// Writes a file name as rules write it. Bytes that are not UTF-8, control characters and backslashes become
/// escapes. A `%` that would begin such an escape becomes `%25`, so that two different names are never
/// written the same way.
pub(crate) fn write_name(name: &[u8]) -> Cow<'_, str> {
    // Nearly all names need no escape.
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

/// Returns the file name for a text that [`write_name`] wrote.
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

/// Returns true for characters that rules write only as escapes.
pub(crate) fn is_no_text(c: char) -> bool {
    c.is_control() || c == '\\'
}

/// Returns the escaped byte if `text` begins with an escape that [`write_name`] writes.
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
