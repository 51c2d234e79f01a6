//! Base64 with the alphabet for URLs and file names, without padding (RFC 4648 section 5). The text can stand
//! in a cookie or a header without escapes.

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Appends the encoding of `bytes`.
pub fn encode(out: &mut Vec<u8>, bytes: &[u8]) {
    for group in bytes.chunks(3) {
        let mut word = [0; 3];
        word[..group.len()].copy_from_slice(group);
        let word = u32::from_be_bytes([0, word[0], word[1], word[2]]);
        for at in 0..=group.len() {
            out.push(DIGITS[(word >> (18 - 6 * at)) as usize & 63]);
        }
    }
}

/// Appends the bytes that `digits` encode. If `digits` are invalid, appends nothing and returns false. Each
/// value has exactly one valid encoding.
pub fn decode(out: &mut Vec<u8>, digits: &[u8]) -> bool {
    let start = out.len();
    for group in digits.chunks(4) {
        let mut word: u32 = 0;
        for digit in group {
            match value(*digit) {
                Some(value) => word = word << 6 | value,
                None => {
                    out.truncate(start);
                    return false;
                }
            }
        }
        word <<= 6 * (4 - group.len() as u32);
        let bytes = word.to_be_bytes();
        let count = (group.len() * 6) / 8;
        // A single digit encodes no whole byte, and unused bits must be zero.
        if group.len() == 1 || bytes[1 + count..].iter().any(|byte| *byte != 0) {
            out.truncate(start);
            return false;
        }
        out.extend_from_slice(&bytes[1..1 + count]);
    }
    true
}

fn value(digit: u8) -> Option<u32> {
    Some(u32::from(match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'-' => 62,
        b'_' => 63,
        _ => return None,
    }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn encoded(bytes: &[u8]) -> String {
        let mut out = Vec::new();
        encode(&mut out, bytes);
        String::from_utf8(out).unwrap()
    }

    /// Test vectors of RFC 4648 section 10, and the two digits that differ from standard base64.
    #[test]
    fn bytes_are_written_as_the_standard_says() {
        for (bytes, text) in [
            (&b""[..], ""),
            (b"f", "Zg"),
            (b"fo", "Zm8"),
            (b"foo", "Zm9v"),
            (b"foob", "Zm9vYg"),
            (b"fooba", "Zm9vYmE"),
            (b"foobar", "Zm9vYmFy"),
            (b"\xfb\xff\xfe", "-__-"),
        ] {
            assert_eq!(encoded(bytes), text);
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let mut out = b"before".to_vec();
            prop_assert!(decode(&mut out, encoded(&bytes).as_bytes()));
            prop_assert_eq!(out, [b"before", &bytes[..]].concat());
        }

        #[test]
        fn only_what_would_be_written_is_read(text in "[A-Da-c019_=+/ -]{0,9}") {
            let mut out = Vec::new();
            if decode(&mut out, text.as_bytes()) {
                prop_assert_eq!(encoded(&out), text);
            } else {
                prop_assert!(out.is_empty());
            }
        }
    }
}
