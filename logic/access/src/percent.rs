//! Percent-decoding (RFC 3986 section 2.1), once. A `%` without two hexadecimal digits is an error here, never a guess.

/// Decodes every `%XX` of `text` once. `None`: a `%` that no two hexadecimal digits follow.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        if first == b'%' {
            let (high, low) = (hex(*after.first()?)?, hex(*after.get(1)?)?);
            bytes.push(high << 4 | low);
            rest = after.get(2..)?;
        } else {
            bytes.push(first);
            rest = after;
        }
    }
    Some(bytes)
}

/// As [`decode`], but leaves what is no escape as it stands.
pub(crate) fn decode_leniently(text: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        let escape = text.get(at + 1..at + 3).and_then(|pair| Some(hex(pair[0])? << 4 | hex(pair[1])?));
        match escape.filter(|_| byte == b'%') {
            Some(decoded) => {
                bytes.push(decoded);
                at += 3;
            }
            None => {
                bytes.push(byte);
                at += 1;
            }
        }
    }
    bytes
}

/// Decodes one name or value of `application/x-www-form-urlencoded` (WHATWG URL section 5.1): `+` is a space.
pub(crate) fn decode_form(text: &str) -> Option<String> {
    String::from_utf8(decode(&text.replace('+', " "))?).ok()
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}
