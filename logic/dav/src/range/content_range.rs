//! The Content-Range header.

use std::fmt;

use super::ByteRange;
use crate::text::{cut, exact_number, trim};

/// A Content-Range header (RFC 9110 section 14.4) of a response or of a partial PUT (section 14.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContentRange {
    /// `bytes 0-9/100`, or `bytes 0-9/*` if the complete length is unknown.
    Part {
        /// Range of the bytes in the body.
        range: ByteRange,
        /// Length of the whole file; greater than the last position of the range.
        complete_bytes: Option<u64>,
    },
    /// `bytes */100`, for responses with status 416.
    Unsatisfied {
        /// Length of the whole file.
        complete_bytes: u64,
    },
}

/// The reason to refuse a Content-Range. A PUT with it must fail with 400: storing a part as if it were the
/// whole would destroy the file (RFC 9110 section 14.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ContentRangeError {
    /// The unit is not bytes.
    #[error("a Content-Range in another unit than bytes (RFC 9110 section 14.4)")]
    Unit,
    /// The header does not follow the grammar.
    #[error("a malformed Content-Range (RFC 9110 section 14.4)")]
    Malformed,
    /// The last position is before the first, or it is not less than the complete length.
    #[error("a Content-Range whose positions contradict each other (RFC 9110 section 14.4)")]
    Contradiction,
}

impl ContentRange {
    /// Parses the value of the header.
    pub fn parse(text: &[u8]) -> Result<Self, ContentRangeError> {
        use ContentRangeError::{Contradiction, Malformed, Unit};
        let (unit, rest) = cut(trim(text), b' ').ok_or(Malformed)?;
        if !unit.eq_ignore_ascii_case(b"bytes") {
            return Err(Unit);
        }
        let (positions, complete) = cut(rest, b'/').ok_or(Malformed)?;
        let number = |digits| exact_number(digits).ok_or(Malformed);
        if positions == b"*" {
            return Ok(Self::Unsatisfied { complete_bytes: number(complete)? });
        }
        let (first, last) = cut(positions, b'-').ok_or(Malformed)?;
        let range = ByteRange::new(number(first)?, number(last)?).ok_or(Contradiction)?;
        let complete_bytes = if complete == b"*" { None } else { Some(number(complete)?) };
        if complete_bytes.is_some_and(|complete| complete <= range.last()) {
            return Err(Contradiction);
        }
        Ok(Self::Part { range, complete_bytes })
    }
}

/// Formats the value of the header.
impl fmt::Display for ContentRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Part { range, complete_bytes: Some(complete) } => {
                write!(f, "bytes {}-{}/{complete}", range.first(), range.last())
            }
            Self::Part { range, complete_bytes: None } => {
                write!(f, "bytes {}-{}/*", range.first(), range.last())
            }
            Self::Unsatisfied { complete_bytes } => write!(f, "bytes */{complete_bytes}"),
        }
    }
}
