//! The scanner of chunked bodies.

use std::fmt;
use std::ops::Range;

use super::extension::Extension;
use super::trailer::{TrailerFault, TrailerLine, TrailerRules};

/// Maximum capacity for removed ranges that is kept between two pieces of a body.
const SURPLUS_KEPT: usize = 64;

/// Finds the end of a chunked body (RFC 9112 section 7.1) in pieces of any size, strictly. The caller can
/// forward the bytes as they arrived.
///
/// Refuses chunk extensions in requests: clients do not use them, and different readings of them allow
/// request smuggling. In responses ([`ChunkScanner::of_response`]), checks extensions and whitespace after
/// the size, but removes them for the next reader ([`ChunkScanner::canonical`]). Shortens leading zeros of a
/// size to one: RFC 9112 section 7.1 allows any number, but readers accept different numbers of digits.
///
/// Refuses other whitespace around the size, sizes with more than 14 significant digits, and line ends other
/// than CR LF. Checks trailers like header lines and refuses fields that may not be trailers (RFC 9110
/// section 6.5.1), because a server that merges trailers into headers would trust them.
#[derive(Debug, Clone)]
pub struct ChunkScanner {
    state: State,
    takes_extensions: bool,
    /// Bytes between the size and the line end of the current chunk, and leading zeros of its size.
    extension_bytes: u16,
    /// Ranges of the last fed bytes that must not be forwarded.
    surplus: Vec<Range<usize>>,
    /// Size of the current chunk while it is parsed, then its remaining data bytes.
    left: u64,
    payload_bytes: u64,
    trailer_bytes: u32,
    trailer: TrailerLine,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// In the size of a chunk, after `digits` significant digits.
    Size {
        digits: u8,
        /// True after a leading zero.
        is_padded: bool,
    },
    Extension(Extension),
    SizeLf,
    Data,
    DataCr,
    DataLf,
    /// At the start of a trailer line, or of the empty line that ends the body.
    TrailerStart,
    TrailerLine,
    TrailerLf,
    EndLf,
    Done,
}

/// The reason to refuse a chunked body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChunkError {
    /// The size has no digits, or a byte that is not a digit.
    Size,
    /// The size is over 2^56-1, or has more than [`ChunkScanner::EXTENSION_BYTES_MAX`] leading zeros.
    SizeTooLarge,
    /// A request has bytes between the size and its line end.
    Extension,
    /// An extension in a response is malformed or over [`ChunkScanner::EXTENSION_BYTES_MAX`].
    MalformedExtension,
    /// CR without LF, LF without CR, or more data than the size of the chunk.
    LineEnd,
    /// A trailer line is invalid.
    Trailer(TrailerFault),
    /// The trailers are over [`ChunkScanner::TRAILER_BYTES_MAX`].
    TrailersTooLarge,
}

impl ChunkScanner {
    /// Maximum digits of a chunk size: 2^56-1 bytes are more than any disk holds.
    const SIZE_DIGITS_MAX: u8 = 14;
    /// Maximum bytes of all trailer lines together.
    pub const TRAILER_BYTES_MAX: u32 = 16 * 1024;
    /// Maximum bytes of the extensions of one chunk, and of the leading zeros of its size.
    pub const EXTENSION_BYTES_MAX: u16 = 1024;

    /// Creates a scanner for the start of a request body.
    pub const fn new() -> Self {
        Self::taking_extensions(false)
    }

    /// Creates a scanner for the start of a response body. Chunks may have extensions, because a recipient
    /// must ignore unknown ones (RFC 9112 section 7.1.1).
    pub const fn of_response() -> Self {
        Self::taking_extensions(true)
    }

    const fn taking_extensions(takes_extensions: bool) -> Self {
        Self {
            state: State::START,
            takes_extensions,
            extension_bytes: 0,
            surplus: Vec::new(),
            left: 0,
            payload_bytes: 0,
            trailer_bytes: 0,
            trailer: TrailerLine::new(),
        }
    }

    /// Creates a scanner for the start of a request body; `rules` forbid additional trailers.
    pub fn with_trailers(rules: &TrailerRules) -> Self {
        Self { trailer: TrailerLine::with_rules(rules), ..Self::new() }
    }

    /// Scans the next bytes. Returns the number of `bytes` that belong to the body, with the framing: all of
    /// them, except in the last piece.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<usize, ChunkError> {
        self.advance(bytes, |_| {})
    }

    /// Returns the last fed bytes of the body in the form for the next reader: without extensions, and with
    /// at most one leading zero in a size. `None` = unchanged.
    pub fn canonical(&self, fed: &[u8]) -> Option<Vec<u8>> {
        if self.surplus.is_empty() {
            return None;
        }
        let mut left = Vec::with_capacity(fed.len());
        let mut at = 0;
        for surplus in &self.surplus {
            left.extend_from_slice(fed.get(at..surplus.start).unwrap_or_default());
            at = surplus.end;
        }
        left.extend_from_slice(fed.get(at..).unwrap_or_default());
        Some(left)
    }

    /// Returns true after the last byte of the body.
    pub fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Returns the number of data bytes so far, without framing. Includes the data of a chunk that is not
    /// complete.
    pub const fn payload_bytes(&self) -> u64 {
        self.payload_bytes
    }

    /// Returns the number of data bytes before the next byte of framing. The caller may move these without
    /// reading them ([`Self::skip`]).
    pub fn data_left(&self) -> u64 {
        if self.state == State::Data { self.left } else { 0 }
    }

    /// Counts `bytes` of data that the caller has moved without reading, at most [`Self::data_left`].
    pub fn skip(&mut self, bytes: u64) {
        let bytes = bytes.min(self.data_left());
        self.took(bytes);
    }

    /// Works like [`Self::feed`], but also passes the pieces of data to `data`.
    pub(super) fn advance<'a>(
        &mut self,
        bytes: &'a [u8],
        mut data: impl FnMut(&'a [u8]),
    ) -> Result<usize, ChunkError> {
        // Releases a large buffer, because a response may last for days.
        if self.surplus.capacity() > SURPLUS_KEPT {
            self.surplus = Vec::new();
        } else {
            self.surplus.clear();
        }
        let mut at = 0;
        while at < bytes.len() && self.state != State::Done {
            if self.state == State::Data {
                let rest = &bytes[at..];
                let taken = rest.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
                data(&rest[..taken]);
                self.took(taken as u64);
                at += taken;
            } else {
                let before = self.state;
                self.state = self.after(bytes[at])?;
                let is_padding = before == State::PADDED && self.state == State::PADDED;
                if is_padding || matches!(self.state, State::Extension(_)) {
                    self.note_surplus(at);
                }
                at += 1;
            }
        }
        Ok(at)
    }

    fn took(&mut self, bytes: u64) {
        self.left -= bytes;
        self.payload_bytes += bytes;
        if self.left == 0 && self.state == State::Data {
            self.state = State::DataCr;
        }
    }

    /// Returns the state after one byte of framing.
    fn after(&mut self, byte: u8) -> Result<State, ChunkError> {
        match (self.state, byte) {
            (State::Size { digits, is_padded }, b'\r') if digits > 0 || is_padded => Ok(State::SizeLf),
            (State::Size { digits, is_padded }, b';' | b' ' | b'\t')
                if (digits > 0 || is_padded) && self.takes_extensions =>
            {
                self.extension_bytes = 0;
                self.extension(Extension::begin(byte))
            }
            (State::Size { digits, is_padded }, _) => self.size_digit(digits, is_padded, byte),
            (State::Extension(extension), b'\r') if extension.may_end() => Ok(State::SizeLf),
            (State::Extension(extension), _) => self.extension(extension.after(byte)),
            (State::SizeLf, b'\n') if self.left == 0 => Ok(State::TrailerStart),
            (State::SizeLf, b'\n') => Ok(State::Data),
            (State::DataCr, b'\r') => Ok(State::DataLf),
            (State::DataLf, b'\n') => {
                self.left = 0;
                self.extension_bytes = 0;
                Ok(State::START)
            }
            (State::TrailerStart, b'\r') => Ok(State::EndLf),
            (State::TrailerStart | State::TrailerLine, _) => self.trailer_byte(byte),
            (State::TrailerLf, b'\n') => {
                self.trailer_bytes += 1;
                Ok(State::TrailerStart)
            }
            (State::EndLf, b'\n') => Ok(State::Done),
            (State::SizeLf | State::DataCr | State::DataLf | State::TrailerLf | State::EndLf, _) => {
                Err(ChunkError::LineEnd)
            }
            // `advance` never calls this function in these states.
            (State::Data | State::Done, _) => Ok(self.state),
        }
    }

    fn size_digit(&mut self, digits: u8, is_padded: bool, byte: u8) -> Result<State, ChunkError> {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            b'A'..=b'F' => byte - b'A' + 10,
            b'\n' => return Err(ChunkError::LineEnd),
            b';' | b' ' | b'\t' if digits > 0 || is_padded => return Err(ChunkError::Extension),
            _ => return Err(ChunkError::Size),
        };
        if digits == 0 && digit == 0 {
            self.extension_bytes += 1;
            let is_too_long = self.extension_bytes > Self::EXTENSION_BYTES_MAX;
            return if is_too_long { Err(ChunkError::SizeTooLarge) } else { Ok(State::PADDED) };
        }
        if digits == Self::SIZE_DIGITS_MAX {
            return Err(ChunkError::SizeTooLarge);
        }
        self.left = self.left << 4 | u64::from(digit);
        Ok(State::Size { digits: digits + 1, is_padded })
    }

    /// Counts one more byte between size and line end, if it is allowed there.
    fn extension(&mut self, next: Option<Extension>) -> Result<State, ChunkError> {
        self.extension_bytes = self.extension_bytes.saturating_add(1);
        match next {
            Some(next) if self.extension_bytes <= Self::EXTENSION_BYTES_MAX => Ok(State::Extension(next)),
            _ => Err(ChunkError::MalformedExtension),
        }
    }

    fn note_surplus(&mut self, at: usize) {
        match self.surplus.last_mut() {
            Some(last) if last.end == at => last.end += 1,
            _ => self.surplus.push(at..at + 1),
        }
    }

    fn trailer_byte(&mut self, byte: u8) -> Result<State, ChunkError> {
        self.trailer_bytes += 1;
        if self.trailer_bytes > Self::TRAILER_BYTES_MAX {
            return Err(ChunkError::TrailersTooLarge);
        }
        if byte == b'\r' {
            self.trailer.end().map_err(ChunkError::Trailer)?;
            return Ok(State::TrailerLf);
        }
        self.trailer.push(byte).map_err(ChunkError::Trailer)?;
        Ok(State::TrailerLine)
    }
}

impl State {
    /// At the start of a size.
    const START: Self = Self::Size { digits: 0, is_padded: false };
    /// After zeros that may be the whole size or lead a longer one.
    const PADDED: Self = Self::Size { digits: 0, is_padded: true };
}

impl Default for ChunkScanner {
    fn default() -> Self {
        Self::new()
    }
}

impl ChunkError {
    /// Returns the status for a client that sent such a body: 400 or 431. A bad response body has no status,
    /// because the response has begun.
    pub const fn status(self) -> u16 {
        match self {
            Self::TrailersTooLarge => 431,
            _ => 400,
        }
    }
}

impl fmt::Display for ChunkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Size => "a chunk size that is not a hexadecimal number (RFC 9112 section 7.1)",
            Self::SizeTooLarge => {
                "a chunk size over 2^56-1, or over 1,024 zeros in front of it (RFC 9112 section 7.1)"
            }
            Self::Extension => "a chunk extension or whitespace after a chunk size (RFC 9112 section 7.1.1)",
            Self::MalformedExtension => {
                "a chunk extension that is malformed or over 1 KiB (RFC 9112 section 7.1.1)"
            }
            Self::LineEnd => "a line of chunk framing that does not end in CR LF (RFC 9112 section 7.1)",
            Self::TrailersTooLarge => "the trailers are too large",
            Self::Trailer(fault) => return fault.fmt(f),
        })
    }
}

impl std::error::Error for ChunkError {}
