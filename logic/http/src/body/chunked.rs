use std::fmt;
use std::ops::Range;

use super::extension::Extension;
use super::trailer::{TrailerFault, TrailerLine, TrailerRules};

/// Room for so many surplus ranges stays from one piece of a body to the next.
const SURPLUS_KEPT: usize = 64;

/// Finds the end of a chunked body (RFC 9112 section 7.1), strictly, in pieces of any size, and lets the caller pass
/// the bytes on as they came.
///
/// Chunk extensions are refused in requests: nobody uses them, and what readers make of them is a source of request
/// smuggling. In responses ([`ChunkScanner::of_response`]) extensions and whitespace behind the size are checked, and not for the next reader
/// ([`ChunkScanner::canonical`]); nor are zeros in front of a size, of which there may be any number (RFC 9112 section 7.1): readers differ in how
/// many digits they take. Refused are other whitespace around the size, more than 14 digits that count, and line ends other than CR LF. Trailers are checked like header lines; those that must not stand there (RFC 9110 section 6.5.1) are
/// refused, so that a server that merges trailers into headers cannot be deceived.
#[derive(Debug, Clone)]
pub struct ChunkScanner {
    state: State,
    takes_extensions: bool,
    /// Bytes between the size and the line end of the chunk that is being read, and zeros in front of its size.
    extension_bytes: u16,
    /// Bytes that were fed last and are not for the next reader.
    surplus: Vec<Range<usize>>,
    /// Of the chunk: its size while it is read, then what is left of its data.
    left: u64,
    payload_bytes: u64,
    trailer_bytes: u32,
    trailer: TrailerLine,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// `digits` of the size were read that count.
    Size {
        digits: u8,
        /// A zero stands in front of them.
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

/// Why a chunked body is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChunkError {
    /// No digits, or a byte that is none.
    Size,
    /// A size over 2^56-1, or one that has more than [`ChunkScanner::EXTENSION_BYTES_MAX`] zeros in front of it.
    SizeTooLarge,
    /// Something between the size and its line end.
    Extension,
    /// The same in a response, where an extension may stand: it is malformed, or over
    /// [`ChunkScanner::EXTENSION_BYTES_MAX`].
    MalformedExtension,
    /// CR without LF, LF without CR, or data that is longer than its chunk.
    LineEnd,
    /// A trailer line.
    Trailer(TrailerFault),
    /// The trailers are over [`ChunkScanner::TRAILER_BYTES_MAX`].
    TrailersTooLarge,
}

impl ChunkScanner {
    /// Digits of a chunk size: 2^56-1 is more than any disk holds.
    const SIZE_DIGITS_MAX: u8 = 14;
    /// All trailer lines together, in bytes.
    pub const TRAILER_BYTES_MAX: u32 = 16 * 1024;
    /// The extensions of one chunk together, in bytes, and likewise the zeros in front of its size.
    pub const EXTENSION_BYTES_MAX: u16 = 1024;

    /// At the start of a body.
    pub const fn new() -> Self {
        Self::taking_extensions(false)
    }

    /// At the start of a response's body: chunks may have extensions, which a recipient that does not know them must
    /// ignore (RFC 9112 section 7.1.1).
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

    /// At the start of a body whose trailers `rules` restrict further.
    pub fn with_trailers(rules: &TrailerRules) -> Self {
        Self { trailer: TrailerLine::with_rules(rules), ..Self::new() }
    }

    /// Reads on. Returns how many of `bytes` belong to the body, framing included: all of them, but in the last piece.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<usize, ChunkError> {
        self.advance(bytes, |_| {})
    }

    /// What is left of `fed`, the bytes of the body that were fed last, without the extensions in them, and with one zero at most in
    /// front of a size: readers differ in what they make of these. `None` = all of it.
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

    /// The last byte of the body has been read.
    pub fn is_done(&self) -> bool {
        self.state == State::Done
    }

    /// Bytes of data so far, without framing. Counts a chunk's data as it is read.
    pub const fn payload_bytes(&self) -> u64 {
        self.payload_bytes
    }

    /// Data bytes that must still come before the next byte of framing: they can be moved unread ([`Self::skip`]).
    pub fn data_left(&self) -> u64 {
        if self.state == State::Data { self.left } else { 0 }
    }

    /// Counts `bytes` of data as read that were moved unread, at most [`Self::data_left`].
    pub fn skip(&mut self, bytes: u64) {
        let bytes = bytes.min(self.data_left());
        self.took(bytes);
    }

    /// Like [`Self::feed`]; hands out the pieces of data.
    pub(super) fn advance<'a>(
        &mut self,
        bytes: &'a [u8],
        mut data: impl FnMut(&'a [u8]),
    ) -> Result<usize, ChunkError> {
        // What one piece needed is not kept for a response that may last for days.
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

    /// The state after one byte of framing.
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
            // `advance` does not come here with these.
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

    /// One byte more between size and line end, if it may stand there.
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
    /// Before a size.
    const START: Self = Self::Size { digits: 0, is_padded: false };
    /// Behind zeros that may be the size, or stand in front of it.
    const PADDED: Self = Self::Size { digits: 0, is_padded: true };
}

impl Default for ChunkScanner {
    fn default() -> Self {
        Self::new()
    }
}

impl ChunkError {
    /// The status for a client that sent such a body: 400 or 431. For a server's body there is none: the response has
    /// begun.
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
