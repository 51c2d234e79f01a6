//! The position of a partial upload, and the X-Update-Range header.

use crate::text::{cut, exact_number, trim};

/// The position in a file of the bytes of a partial upload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// At this byte, which must be in the file or directly after its end: a gap would hold bytes that only
    /// the client knows (RFC 9110 section 14.5).
    At(u64),
    /// At this byte; fills a gap after the end of the file with zeros.
    Anywhere(u64),
    /// At this number of bytes before the end.
    BeforeEnd(u64),
    /// At the end of the file.
    End,
}

/// Media type of a PATCH that writes bytes into a part of a file. The DAV header announces it as a compliance
/// class. Defined by sabre/dav (<https://sabre.io/dav/http-patch/>) and adopted by other implementations.
pub const PARTIAL_UPDATE: &str = "application/x-sabredav-partialupdate";

/// The reason to refuse an X-Update-Range header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UpdateRangeError {
    /// The header does not follow the grammar: 400.
    #[error("a malformed X-Update-Range")]
    Malformed,
    /// The last byte is before the first, or the length differs from that of the body: 416.
    #[error("an X-Update-Range that is not as long as the content")]
    Length,
}

impl Position {
    /// Parses an X-Update-Range header: `bytes=3-6`, `bytes=3-`, `bytes=-4` or `append`. `body_bytes` is the
    /// length of the body.
    pub fn parse_update_range(header: &[u8], body_bytes: u64) -> Result<Self, UpdateRangeError> {
        use UpdateRangeError::{Length, Malformed};
        if trim(header).eq_ignore_ascii_case(b"append") {
            return Ok(Self::End);
        }
        let (unit, range) = cut(header, b'=').ok_or(Malformed)?;
        let (first, last) = cut(range, b'-').ok_or(Malformed)?;
        if !unit.eq_ignore_ascii_case(b"bytes") {
            return Err(Malformed);
        }
        let number = |digits| exact_number(digits).ok_or(Malformed);
        match (first, last) {
            (b"", bytes) => Ok(Self::BeforeEnd(number(bytes)?)),
            (first, b"") => Ok(Self::Anywhere(number(first)?)),
            (first, last) => {
                let (first, last) = (number(first)?, number(last)?);
                let bytes = last.checked_sub(first).and_then(|bytes| bytes.checked_add(1));
                if bytes == Some(body_bytes) { Ok(Self::Anywhere(first)) } else { Err(Length) }
            }
        }
    }

    /// Returns the position of the first byte in a file of `length` bytes; `None` if the file has no such
    /// position.
    pub const fn first(self, length: u64) -> Option<u64> {
        match self {
            Self::At(first) if first > length => None,
            Self::At(first) | Self::Anywhere(first) => Some(first),
            Self::BeforeEnd(bytes) => length.checked_sub(bytes),
            Self::End => Some(length),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Overwrites a part of `1234567890` with four dashes and returns the file.
    fn result(header: &str) -> Result<String, UpdateRangeError> {
        let position = Position::parse_update_range(header.as_bytes(), 4)?;
        let Some(first) = position.first(10) else { return Ok("nowhere".to_owned()) };
        let mut file = b"1234567890".to_vec();
        let first = usize::try_from(first).unwrap();
        file.resize(file.len().max(first + 4), b'.');
        file[first..first + 4].fill(b'-');
        Ok(String::from_utf8(file).unwrap())
    }

    #[test]
    fn a_part_comes_to_where_the_header_says() {
        for (header, file) in [
            ("bytes=0-3", "----567890"),
            ("bytes=1-4", "1----67890"),
            ("Bytes = 0-", "----567890"),
            ("bytes=-4", "123456----"),
            ("bytes=-2", "12345678----"),
            ("bytes=2-", "12----7890"),
            ("bytes=12-", "1234567890..----"),
            ("bytes=8-11", "12345678----"),
            ("append", "1234567890----"),
            (" Append ", "1234567890----"),
            ("bytes=-10", "----567890"),
            ("bytes=-11", "nowhere"),
        ] {
            assert_eq!(result(header).as_deref(), Ok(file), "{header}");
        }
        assert_eq!((Position::At(10).first(10), Position::At(11).first(10)), (Some(10), None));
    }

    #[test]
    fn what_contradicts_the_body_or_says_nothing_is_refused() {
        for header in ["bytes=0-2", "bytes=0-4", "bytes=5-2", "bytes=0-18446744073709551615"] {
            assert_eq!(result(header), Err(UpdateRangeError::Length), "{header}");
        }
        for header in [
            "",
            "bytes",
            "bytes=",
            "bytes=-",
            "bytes=a-b",
            "lines=0-3",
            "bytes=0-3,5-8",
            "bytes=99999999999999999999-",
            "bytes=--4",
        ] {
            assert_eq!(result(header), Err(UpdateRangeError::Malformed), "{header}");
        }
    }
}
