//! Percent-encoding (RFC 3986 section 2.1).

use super::PathError;

/// Decodes a segment and appends it to `out`.
pub(super) fn decode(raw: &[u8], out: &mut Vec<u8>) -> Result<(), PathError> {
    let mut rest = raw;
    while let Some((byte, tail)) = rest.split_first() {
        rest = tail;
        let decoded = match byte {
            b'?' | b'#' => return Err(PathError::NotPath),
            b'%' => {
                let ([high, low], tail) = tail.split_first_chunk().ok_or(PathError::Escape)?;
                rest = tail;
                match digit(*high)? << 4 | digit(*low)? {
                    b'/' => return Err(PathError::EncodedSlash),
                    decoded => decoded,
                }
            }
            byte => *byte,
        };
        if decoded == 0 {
            return Err(PathError::Nul);
        }
        out.push(decoded);
    }
    Ok(())
}

fn digit(byte: u8) -> Result<u8, PathError> {
    match byte {
        b'0'..=b'9' => Ok(byte - b'0'),
        b'a'..=b'f' => Ok(byte - b'a' + 10),
        b'A'..=b'F' => Ok(byte - b'A' + 10),
        _ => Err(PathError::Escape),
    }
}

/// Percent-encodes a path and appends it to `out`. Keeps slashes and the characters of a segment (RFC 3986
/// section 3.3), but encodes `&` and `'` for XML.
pub(super) fn encode(path: &[u8], out: &mut String) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for byte in path {
        if byte.is_ascii_alphanumeric() || b"/-._~!$()*+,;=:@".contains(byte) {
            out.push(char::from(*byte));
        } else {
            out.push('%');
            out.push(char::from(DIGITS[usize::from(byte >> 4)]));
            out.push(char::from(DIGITS[usize::from(byte & 15)]));
        }
    }
}
