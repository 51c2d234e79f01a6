//! The Overwrite header (RFC 4918 section 10.6).

use super::HeaderError;
use crate::text::trim;

/// Returns true if COPY or MOVE may replace an existing destination; this is the default (RFC 4918 section
/// 10.6).
pub fn overwrites(header: Option<&[u8]>) -> Result<bool, HeaderError> {
    match header.map(trim) {
        None | Some(b"T" | b"t") => Ok(true),
        Some(b"F" | b"f") => Ok(false),
        Some(_) => Err(HeaderError::Overwrite),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overwrite_is_t_or_f() {
        assert_eq!(overwrites(None), Ok(true));
        assert_eq!(overwrites(Some(b"T")), Ok(true));
        assert_eq!(overwrites(Some(b" F ")), Ok(false));
        for text in [&b""[..], b"true", b"TF", b"0"] {
            assert_eq!(overwrites(Some(text)), Err(HeaderError::Overwrite));
        }
    }
}
