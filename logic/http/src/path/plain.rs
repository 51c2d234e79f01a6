//! The scan that nearly every path passes: it has one form only, whatever the rules are.

use crate::Span;

/// Whether nothing in this part of `buf` could be spelled otherwise: only characters that stand in a path unencoded
/// (RFC 3986 section 3.3) but `;`, no dot segment, no repeated slash. Looks at 16 bytes at a time, and past the end of the
/// path for that: the byte behind it belongs to no path.
#[inline]
pub(super) fn is_plain_at(buf: &[u8], span: Span) -> bool {
    let (mut at, end) = (span.start as usize, span.end as usize);
    while at < end {
        let Some(window) = buf.get(at..).and_then(|tail| tail.first_chunk::<16>()) else {
            return is_plain(&buf[at..end]);
        };
        let seen = window.len().min(end - at);
        if first_suspect(window) < seen {
            return false;
        }
        // The last byte of a window is looked at again, as the first of a pair.
        at += 15;
    }
    true
}

/// The same of a path that stands alone.
pub(super) fn is_plain(path: &[u8]) -> bool {
    let is_pair = |pair: &[u8]| pair[0] == b'/' && matches!(pair[1], b'/' | b'.');
    path.iter().all(|byte| is_plain_byte(*byte)) && !path.windows(2).any(is_pair)
}

/// Returns the index of the first byte that is not plain, or that begins `//` or `/.`; 16 if there is none.
#[inline(always)]
fn first_suspect(window: &[u8; 16]) -> usize {
    let mask =
        |is: fn(u8) -> bool| u128::from_le_bytes(window.map(|byte| if is(byte) { u8::MAX } else { 0 }));
    let strange = mask(|byte| !is_plain_byte(byte));
    let slashes = mask(|byte| byte == b'/');
    let followers = mask(|byte| (byte == b'/') | (byte == b'.'));
    (strange | (slashes & (followers >> 8))).trailing_zeros() as usize / 8
}

/// `pchar` of RFC 3986 without `%` and `;`, or a slash. In a form that works on many bytes at a time.
#[inline(always)]
fn is_plain_byte(byte: u8) -> bool {
    // `&` to `:` are sub-delims, `-`, `.`, `/`, digits and the colon.
    let punctuation_and_digits = byte.wrapping_sub(b'&') <= b':' - b'&';
    let letter = (byte | 0x20).wrapping_sub(b'a') <= b'z' - b'a';
    punctuation_and_digits
        | letter
        | (byte == b'!')
        | (byte == b'$')
        | (byte == b'=')
        | (byte == b'@')
        | (byte == b'_')
        | (byte == b'~')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::normal::is_pchar;

    #[test]
    fn plain_bytes_are_those_of_the_grammar() {
        for byte in 0..=u8::MAX {
            let expected = byte == b'/' || (is_pchar(byte) && byte != b';');
            assert_eq!(is_plain_byte(byte), expected, "{byte}");
        }
    }

    #[test]
    fn a_suspect_is_found_wherever_it_stands() {
        let suspects: [&[u8]; 12] =
            [b"%", b";", b"\\", b"//", b"/.", b"\"", b"<", b"^", b"|", b"\x80", b"\xff", b"`"];
        for bytes in 1..70 {
            for behind in [&b" HTTP/1.1\r\nHost: h\r\n\r\n"[..], b" ", b""] {
                let buf = [b"GET ", &vec![b'a'; bytes][..], behind].concat();
                let span = Span::new(4, 4 + bytes);
                assert!(is_plain_at(&buf, span), "{bytes}");
                for suspect in suspects {
                    for place in 0..=bytes.saturating_sub(suspect.len()) {
                        if place + suspect.len() > bytes {
                            continue;
                        }
                        let mut buf = buf.clone();
                        buf[4 + place..4 + place + suspect.len()].copy_from_slice(suspect);
                        assert!(!is_plain_at(&buf, span), "{} at {place} of {bytes}", suspect.escape_ascii());
                        assert!(!is_plain(span.of(&buf)));
                    }
                }
            }
        }
    }

    #[test]
    fn what_stands_behind_the_path_does_not_count() {
        // The dot and the slash of the version, and what a query may have.
        for text in ["GET / HTTP/1.1\r\nHost: h\r\n", "GET /a?b=%2F//..;\\ HTTP/1.1\r\n", "GET /a/ .//"] {
            let end = text[4..].find([' ', '?']).unwrap() + 4;
            assert!(is_plain_at(text.as_bytes(), Span::new(4, end)), "{text}");
        }
    }
}
