//! Elements of the header grammars: whitespace, tokens, lists and numbers (RFC 9110 section 5.6).

/// Removes the whitespace at both ends (OWS, RFC 9110 section 5.6.3).
pub(crate) fn trim(text: &[u8]) -> &[u8] {
    let start = text.iter().position(|byte| !is_space(*byte)).unwrap_or(text.len());
    let end = text.iter().rposition(|byte| !is_space(*byte)).map_or(start, |at| at + 1);
    &text[start..end]
}

/// Returns true for space and tab.
pub(crate) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// Returns true for a byte of a token (RFC 9110 section 5.6.2).
pub(crate) fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// Returns the trimmed elements of a comma-separated list, without empty ones (RFC 9110 section 5.6.1.2). Not
/// for lists whose elements may contain commas.
pub(crate) fn elements(list: &[u8]) -> impl Iterator<Item = &[u8]> {
    list.split(|byte| *byte == b',').map(trim).filter(|element| !element.is_empty())
}

/// Parses one or more digits; clamps a number to the maximum of `u64`.
pub(crate) fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let add = |sum: u64, digit: &u8| sum.saturating_mul(10).saturating_add(u64::from(digit - b'0'));
    Some(digits.iter().fold(0, add))
}

/// Parses one or more digits; returns `None` if the number does not fit into `u64`.
pub(crate) fn exact_number(digits: &[u8]) -> Option<u64> {
    number(digits)?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// Splits `text` at the first `byte` and trims both sides.
pub(crate) fn cut(text: &[u8], byte: u8) -> Option<(&[u8], &[u8])> {
    let at = text.iter().position(|b| *b == byte)?;
    Some((trim(&text[..at]), trim(&text[at + 1..])))
}

/// Parses a weight such as `1`, `0.5` or `0.123`, in thousandths (RFC 9110 section 12.4.2).
pub(crate) fn weight(text: &[u8]) -> Option<u16> {
    let (whole, fraction) = match text.split_first()? {
        (whole, []) => (whole, &[][..]),
        (whole, [b'.', fraction @ ..]) => (whole, fraction),
        _ => return None,
    };
    if fraction.len() > 3 || !fraction.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let digit = |at: usize| fraction.get(at).map_or(0, |digit| u16::from(digit - b'0'));
    let thousandths = 100 * digit(0) + 10 * digit(1) + digit(2);
    match (whole, thousandths) {
        (b'0', _) => Some(thousandths),
        (b'1', 0) => Some(1000),
        _ => None,
    }
}

/// Splits an element of an Accept-like list into the text before the first `;` and its weight (1000 without
/// one). Returns `None` if the weight is malformed.
pub(crate) fn weighted(element: &[u8]) -> Option<(&[u8], u16)> {
    let mut parts = element.split(|byte| *byte == b';').map(trim);
    let name = parts.next()?;
    let mut quality = 1000;
    for part in parts {
        if let Some((b"q" | b"Q", value)) = cut(part, b'=') {
            quality = weight(value)?;
        }
    }
    Some((name, quality))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_have_at_most_three_decimals_and_do_not_exceed_one() {
        for (text, thousandths) in
            [("0", 0), ("1", 1000), ("1.", 1000), ("1.000", 1000), ("0.5", 500), ("0.05", 50), ("0.123", 123)]
        {
            assert_eq!(weight(text.as_bytes()), Some(thousandths), "{text}");
        }
        for text in ["", "2", "1.001", "0.1234", ".5", "-1", "0,5", "0.x", "00"] {
            assert_eq!(weight(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn numbers_are_digits_and_nothing_else() {
        assert_eq!(number(b"18446744073709551616"), Some(u64::MAX));
        assert_eq!(exact_number(b"18446744073709551616"), None);
        assert_eq!(exact_number(b"0018"), Some(18));
        for text in ["", "+1", "-1", " 1", "1 ", "0x1"] {
            assert_eq!((number(text.as_bytes()), exact_number(text.as_bytes())), (None, None), "{text:?}");
        }
    }

    #[test]
    fn trimming_takes_spaces_and_tabs_from_both_ends() {
        assert_eq!(trim(b" \t a b \t"), b"a b");
        assert_eq!(trim(b" \t"), b"");
    }
}
