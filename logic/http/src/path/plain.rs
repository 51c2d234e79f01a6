//! The fast check for plain paths, which have only one form under any rules. Most paths are plain.

/// Returns true if the path has no other spelling. It then has only characters that are allowed unencoded in
/// a path (RFC 3986 section 3.3) except `;`, no segment that begins with a dot, and no repeated slash.
#[inline]
pub(crate) fn is_plain(path: &[u8]) -> bool {
    let mut faults = 0;
    let mut behind_slash = 0;
    // The loop has no branch for single bytes, because paths are short.
    for byte in path {
        let class = CLASSES[usize::from(*byte)];
        faults |= class & (STRANGE | behind_slash);
        behind_slash = (class & SLASH) >> 1;
    }
    faults == 0
}

/// Bit for a byte that is not plain.
const STRANGE: u8 = 1;
/// Bit for a byte that is not plain after a slash.
const FOLLOWER: u8 = 2;
/// Bit for a slash; the next higher bit after [`FOLLOWER`].
const SLASH: u8 = 4;

static CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        classes[byte] = match byte as u8 {
            b'/' => SLASH | FOLLOWER,
            b'.' => FOLLOWER,
            b';' => STRANGE,
            byte if is_pchar(byte) => 0,
            _ => STRANGE,
        };
        byte += 1;
    }
    classes
};

/// Returns true if a segment may contain the byte unencoded (RFC 3986 section 3.3: `pchar`).
pub(super) const fn is_pchar(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b'-' | b'.'
                | b'_'
                | b'~'
                | b'!'
                | b'$'
                | b'&'
                | b'\''
                | b'('
                | b')'
                | b'*'
                | b'+'
                | b','
                | b';'
                | b'='
                | b':'
                | b'@'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_bytes_are_those_of_the_grammar() {
        for byte in 0..=u8::MAX {
            let expected = byte == b'/' || (is_pchar(byte) && byte != b';');
            assert_eq!(CLASSES[usize::from(byte)] & STRANGE == 0, expected, "{byte}");
        }
    }

    #[test]
    fn a_suspect_is_found_wherever_it_stands() {
        let suspects: [&[u8]; 12] =
            [b"%", b";", b"\\", b"//", b"/.", b"\"", b"<", b"^", b"|", b"\x80", b"\xff", b"`"];
        for bytes in 1..40 {
            let path = vec![b'a'; bytes];
            assert!(is_plain(&path), "{bytes}");
            for suspect in suspects.iter().filter(|suspect| suspect.len() <= bytes) {
                for at in 0..=bytes - suspect.len() {
                    let mut path = path.clone();
                    path[at..at + suspect.len()].copy_from_slice(suspect);
                    assert!(!is_plain(&path), "{} at {at} of {bytes}", suspect.escape_ascii());
                }
            }
        }
        for path in ["", "*", "/", "/a/b.c/d..", "/a.", "/~a/$b(c)"] {
            assert!(is_plain(path.as_bytes()), "{path}");
        }
    }
}
