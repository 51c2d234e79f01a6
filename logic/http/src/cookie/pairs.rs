//! Parsing of cookies.

use crate::{HeaderTable, KnownHeader};

/// Returns the cookies of a Cookie line in order, as name and value without surrounding whitespace. Skips
/// parts without `=`. Quotes belong to the value and do not protect a `;` (RFC 6265 section 5.4).
pub fn cookie_pairs(line: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    line.split(|byte| *byte == b';').filter_map(pair)
}

/// Returns the values of all cookies with a name in a request head, in order. Names are case-sensitive.
pub fn cookies_named<'a>(
    buf: &'a [u8],
    table: &'a HeaderTable,
    name: &'a [u8],
) -> impl Iterator<Item = &'a [u8]> {
    let lines = table.all(KnownHeader::Cookie);
    lines
        .flat_map(move |line| cookie_pairs(line.value().of(buf)))
        .filter_map(move |(found, value)| (found == name).then_some(value))
}

/// Returns name and value of the cookie in a Set-Cookie line, without its attributes.
pub fn set_cookie_pair(line: &[u8]) -> Option<(&[u8], &[u8])> {
    line.split(|byte| *byte == b';').next().and_then(pair)
}

/// Returns true if a text is a valid cookie name: a token (RFC 6265 section 4.1.1).
pub fn is_cookie_name(text: &str) -> bool {
    crate::head::scan::is_token_text(text.as_bytes())
}

/// Returns true if a text is a valid cookie value without quotes (`cookie-octet` of RFC 6265 section 4.1.1).
pub fn is_cookie_value(text: &[u8]) -> bool {
    text.iter().all(|byte| matches!(byte, 0x21 | 0x23..=0x2b | 0x2d..=0x3a | 0x3c..=0x5b | 0x5d..=0x7e))
}

/// Splits `name=value` and trims both sides.
pub(super) fn pair(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let equals = text.iter().position(|byte| *byte == b'=')?;
    Some((text[..equals].trim_ascii(), text[equals + 1..].trim_ascii()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(line: &str) -> Vec<(String, String)> {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        cookie_pairs(line.as_bytes()).map(|(name, value)| (text(name), text(value))).collect()
    }

    #[test]
    fn cookies_are_told_apart_by_semicolons_alone() {
        let owned = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
            pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
        };
        assert_eq!(pairs("a=1; b=2"), owned(&[("a", "1"), ("b", "2")]));
        assert_eq!(pairs("a=1;b=2;"), owned(&[("a", "1"), ("b", "2")]));
        assert_eq!(pairs(" a = 1=2 ;; lone ; c="), owned(&[("a", "1=2"), ("c", "")]));
        assert_eq!(pairs("q=\"x;y\""), owned(&[("q", "\"x")]));
        assert_eq!(pairs(""), owned(&[]));
    }

    #[test]
    fn a_set_cookie_line_begins_with_its_cookie() {
        assert_eq!(set_cookie_pair(b"SID=31d4; Path=/; Secure"), Some((&b"SID"[..], &b"31d4"[..])));
        assert_eq!(set_cookie_pair(b"SID=; Path=/"), Some((&b"SID"[..], &b""[..])));
        assert_eq!(set_cookie_pair(b"Path"), None);
    }

    #[test]
    fn values_have_neither_separators_nor_quotes() {
        assert!(is_cookie_value(b"aZ09_-.:~|/+=") && is_cookie_value(b""));
        for bad in [" ", ";", ",", "\"", "\\", "\u{7f}", "\n", "é"] {
            assert!(!is_cookie_value(bad.as_bytes()), "{bad:?}");
        }
        assert!(
            is_cookie_name("JSESSIONID")
                && !is_cookie_name("a b")
                && !is_cookie_name("")
                && !is_cookie_name("a=b")
        );
    }
}
