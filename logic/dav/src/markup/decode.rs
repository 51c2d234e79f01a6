//! Decoding of XML bodies to text.

use std::borrow::Cow;

use super::{XmlError, XmlLimits};

/// A decoded body.
pub(crate) struct Decoded<'a> {
    pub(crate) text: Cow<'a, str>,
    pub(crate) utf16: bool,
}

/// Decodes UTF-8 with or without a byte order mark, or UTF-16 with one. RFC 4918 section 8.2 refers to XML,
/// which requires both.
pub(crate) fn decode<'a>(body: &'a [u8], limits: &XmlLimits) -> Result<Decoded<'a>, XmlError> {
    if body.len() > limits.bytes_max {
        return Err(XmlError::TooLarge);
    }
    let (units, big_endian) = match body {
        [0xfe, 0xff, units @ ..] => (units, true),
        [0xff, 0xfe, units @ ..] => (units, false),
        _ => {
            let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body);
            let text = std::str::from_utf8(body).map_err(|_| XmlError::Encoding)?;
            return Ok(Decoded { text: text.into(), utf16: false });
        }
    };
    let (units, []) = units.as_chunks::<2>() else { return Err(XmlError::Encoding) };
    let unit =
        |bytes: &[u8; 2]| if big_endian { u16::from_be_bytes(*bytes) } else { u16::from_le_bytes(*bytes) };
    let text = char::decode_utf16(units.iter().map(unit)).collect::<Result<String, _>>();
    Ok(Decoded { text: text.map_err(|_| XmlError::Encoding)?.into(), utf16: true })
}
