//! The grammar of chunk extensions.

use crate::head::scan::is_token;

/// The position between the size of a chunk and its line end (RFC 9112 section 7.1.1):
/// `*( BWS ";" BWS token [ BWS "=" BWS ( token / quoted-string ) ] )`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extension {
    /// In whitespace after the size or an extension; a semicolon or the line end must follow.
    Space,
    /// After a semicolon.
    NameStart,
    Name,
    /// In whitespace after a name.
    NameEnd,
    /// After an equals sign.
    ValueStart,
    Value,
    Quoted,
    /// After a backslash in a quoted value.
    Escaped,
    /// After the closing quote.
    QuoteEnd,
}

impl Extension {
    /// Returns the state after the first byte that follows the size; `None` if an extension cannot begin with
    /// it.
    pub(super) fn begin(byte: u8) -> Option<Self> {
        match byte {
            b';' => Some(Self::NameStart),
            b' ' | b'\t' => Some(Self::Space),
            _ => None,
        }
    }

    /// Returns the state after the next byte; `None` if the byte is not allowed. A line end is never allowed.
    pub(super) fn after(self, byte: u8) -> Option<Self> {
        let is_space = matches!(byte, b' ' | b'\t');
        match (self, byte) {
            (Self::Space | Self::Value | Self::QuoteEnd, _) if is_space => Some(Self::Space),
            (Self::NameStart | Self::NameEnd | Self::ValueStart, _) if is_space => Some(self),
            (Self::Name, _) if is_space => Some(Self::NameEnd),
            (Self::Space | Self::Name | Self::NameEnd | Self::Value | Self::QuoteEnd, b';') => {
                Some(Self::NameStart)
            }
            (Self::Name | Self::NameEnd, b'=') => Some(Self::ValueStart),
            (Self::NameStart | Self::Name, _) if is_token(byte) => Some(Self::Name),
            (Self::ValueStart | Self::Value, _) if is_token(byte) => Some(Self::Value),
            (Self::ValueStart, b'"') => Some(Self::Quoted),
            (Self::Quoted, b'"') => Some(Self::QuoteEnd),
            (Self::Quoted, b'\\') => Some(Self::Escaped),
            (Self::Quoted | Self::Escaped, _) if is_text(byte) => Some(Self::Quoted),
            _ => None,
        }
    }

    /// Returns true if the line may end here.
    pub(super) fn may_end(self) -> bool {
        // `Space` is included because servers that reserve four columns for the size fill them with spaces.
        matches!(self, Self::Space | Self::Name | Self::NameEnd | Self::Value | Self::QuoteEnd)
    }
}

/// Returns true for a byte of a quoted string: no control characters except HTAB (RFC 9110 section 5.6.4).
fn is_text(byte: u8) -> bool {
    byte == b'\t' || (byte >= 0x20 && byte != 0x7f)
}
