use crate::head::scan::is_token;

/// Where a reader stands between a chunk's size and its line end (RFC 9112 section 7.1.1):
/// `*( BWS ";" BWS token [ BWS "=" BWS ( token / quoted-string ) ] )`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extension {
    /// In whitespace behind the size or an extension; a semicolon or the line end follows.
    Space,
    /// Behind a semicolon.
    NameStart,
    Name,
    /// In whitespace behind a name.
    NameEnd,
    /// Behind an equals sign.
    ValueStart,
    Value,
    Quoted,
    /// Behind a backslash in a quoted value.
    Escaped,
    /// Behind the closing quote.
    QuoteEnd,
}

impl Extension {
    /// The first byte behind the size; `None` = nothing that an extension begins with.
    pub(super) fn begin(byte: u8) -> Option<Self> {
        match byte {
            b';' => Some(Self::NameStart),
            b' ' | b'\t' => Some(Self::Space),
            _ => None,
        }
    }

    /// The next byte; `None` = one that must not stand there. No line end may.
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

    /// Whether the line may end here.
    pub(super) fn may_end(self) -> bool {
        // Servers that reserve four columns for the size fill up with spaces.
        matches!(self, Self::Space | Self::Name | Self::NameEnd | Self::Value | Self::QuoteEnd)
    }
}

/// What a quoted string may hold: no control characters but HTAB (RFC 9110 section 5.6.4).
fn is_text(byte: u8) -> bool {
    byte == b'\t' || (byte >= 0x20 && byte != 0x7f)
}
