//! Host and port (RFC 3986 section 3.2), stricter than the grammar: letters, digits and `-._~`, or an IPv6
//! address in brackets. There is no userinfo, no percent-encoding and no sub-delimiters: no name in use has
//! them, and programs interpret each of them differently. A port without digits counts as absent: `*DIGIT`
//! (RFC 3986 section 3.2.3).

use std::net::Ipv6Addr;

use super::Span;
use super::scan::is_host;

/// Returns true if `text` is `host` or `host:port`.
pub(super) fn is_authority(text: &[u8]) -> bool {
    split_authority(text).is_some()
}

/// Does the same as [`is_authority`] for a part of `buf`. Reads past the end of the part, which makes it fast
/// for short names.
#[inline]
pub(super) fn is_authority_at(buf: &[u8], span: Span) -> bool {
    let (start, bytes) = (span.start as usize, span.len());
    let Some(window) = buf.get(start..).and_then(|tail| tail.first_chunk::<16>()) else {
        return is_authority(span.of(buf));
    };
    let strangers = window.map(|b| if is_host_branchless(b) { 0 } else { u8::MAX });
    let host_bytes = u128::from_le_bytes(strangers).trailing_zeros() as usize / 8;
    if host_bytes >= bytes {
        return bytes > 0;
    }
    match span.of(buf).get(host_bytes..) {
        Some([b':', digits @ ..]) if host_bytes > 0 => digits.is_empty() || port(digits).is_some(),
        _ => is_authority(span.of(buf)),
    }
}

/// Does the same as [`is_host`] in a form that the compiler can vectorise.
#[inline(always)]
fn is_host_branchless(byte: u8) -> bool {
    let letter = (byte | 0x20).wrapping_sub(b'a') <= b'z' - b'a';
    let digit = byte.wrapping_sub(b'0') <= 9;
    letter | digit | (byte == b'-') | (byte == b'.') | (byte == b'_') | (byte == b'~')
}

/// Splits an authority into host and port; an IPv6 address keeps its brackets. Returns `None` if the
/// authority is invalid.
pub fn split_authority(text: &[u8]) -> Option<(&[u8], Option<u16>)> {
    let host_end = if text.first() == Some(&b'[') {
        let close = text.iter().position(|b| *b == b']')?;
        let address = std::str::from_utf8(&text[1..close]).ok()?;
        address.parse::<Ipv6Addr>().ok()?;
        close + 1
    } else {
        text.iter().position(|b| !is_host(*b)).unwrap_or(text.len())
    };
    let (host, rest) = text.split_at(host_end);
    match rest {
        _ if host.is_empty() => None,
        [] | [b':'] => Some((host, None)),
        [b':', digits @ ..] => Some((host, Some(port(digits)?))),
        _ => None,
    }
}

/// Parses a port, 1 to 65535, with at most five digits.
#[inline]
fn port(digits: &[u8]) -> Option<u16> {
    if digits.len() > 5 {
        return None;
    }
    let mut number = 0u32;
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        number = number * 10 + u32::from(digit);
    }
    u16::try_from(number).ok().filter(|port| *port != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_to_judge_a_host_byte_agree() {
        for byte in 0..=u8::MAX {
            assert_eq!(is_host(byte), is_host_branchless(byte), "{byte}");
        }
    }

    #[test]
    fn an_authority_is_a_host_and_perhaps_a_port() {
        let long = format!("{}.example", "a".repeat(40));
        for sound in [
            "a",
            "a.example:80",
            "127.0.0.1:65535",
            "[::1]",
            "[2001:db8::1]:8080",
            "a_b~c",
            "a:",
            "[::1]:",
            &long,
        ] {
            assert!(is_authority(sound.as_bytes()), "{sound}");
        }
        for wrong in [
            "", ":", ":80", "a::", "a:0", "a:65536", "a:080000", "a:8a", "a b", "a@b", "a/b", "a,b", "a%41",
            "[::1", "[::g]", "::1", "[]", "[::1]x", "a\u{e9}", "a:-1", "a:+80",
        ] {
            assert!(!is_authority(wrong.as_bytes()), "{wrong}");
        }
    }

    #[test]
    fn what_stands_behind_the_host_does_not_count() {
        let buf = b"Host: a.example\r\nX: 0123456789abcdef";
        assert!(is_authority_at(buf, Span::new(6, 15)));
        assert!(is_authority_at(buf, Span::new(20, buf.len())));
        assert!(!is_authority_at(buf, Span::new(6, 16)));
        assert!(!is_authority_at(buf, Span::new(6, 6)));
    }
}
