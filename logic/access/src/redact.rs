//! Tokens that travel in URLs (RFC 6750 section 2.3), taken out before a URL is logged.
//!
//! Whoever writes the URL chooses its encoding, so a name is recognised after any number of percent-decodings, within values
//! and paths, too (a redirect's address is often a parameter of another). What looks like a secret is taken out as a whole:
//! too much is lost rather than too little.

use std::borrow::Cow;

use crate::percent;

/// Names of parameters whose values are secrets.
pub const SECRET_NAMES: [&str; 9] = [
    "access_token",
    "weir_ticket",
    "weir-upload",
    "authz",
    "id_token",
    "refresh_token",
    "client_secret",
    "client_assertion",
    "assertion",
];

/// What stands in place of a secret.
pub const REDACTED: &str = "REDACTED";

/// More layers of encoding than this are nobody's honest URL.
const DECODINGS_MAX: usize = 8;

/// `url`, or any part of one, without the values of [`SECRET_NAMES`].
pub fn redact_url(url: &str) -> Cow<'_, str> {
    let is_separator = |c: char| matches!(c, '?' | '&' | ';' | '#' | '/' | ' ' | ',' | '"' | '\'');
    // The usual case, at the price of one look: nothing is assigned, and nothing is hidden.
    if !url.contains(['=', '%']) {
        return Cow::Borrowed(url);
    }
    if !url.split(is_separator).any(|piece| secret_in(piece).is_some()) {
        return Cow::Borrowed(url);
    }
    let mut text = String::with_capacity(url.len());
    // Within a query, what follows a secret's name up to the next parameter belongs to it, whatever it is.
    let mut within: Option<bool> = None;
    for piece in url.split_inclusive(is_separator) {
        let body = piece.trim_end_matches(is_separator);
        let separator = &piece[body.len()..];
        if within.is_none() {
            match secret_in(body) {
                Some(name) => {
                    text.push_str(name);
                    text.push('=');
                    text.push_str(REDACTED);
                    within = Some(true);
                }
                None => text.push_str(body),
            }
        }
        let ends = separator.starts_with(['&', ';', '#', ' ']);
        if within.is_none() || ends {
            text.push_str(separator);
            within = None;
        }
    }
    Cow::Owned(text)
}

/// The name of a secret in one piece of a URL, under however many encodings.
fn secret_in(piece: &str) -> Option<&'static str> {
    let mut bytes = Cow::Borrowed(piece.as_bytes());
    for _ in 0..DECODINGS_MAX {
        if let Some(name) = SECRET_NAMES.into_iter().find(|name| assigns(&bytes, name.as_bytes())) {
            return Some(name);
        }
        if !bytes.contains(&b'%') {
            return None;
        }
        let decoded = percent::decode_leniently(&bytes);
        if decoded.len() == bytes.len() {
            return None;
        }
        bytes = Cow::Owned(decoded);
    }
    // Still encoded: nobody knows what it is.
    Some(SECRET_NAMES[0])
}

/// Whether `name=` stands in it, in any capitals, where a name can begin.
fn assigns(bytes: &[u8], name: &[u8]) -> bool {
    let candidates = bytes.windows(name.len() + 1).enumerate();
    candidates.into_iter().any(|(at, window)| {
        let begins =
            at == 0 || !(bytes[at - 1].is_ascii_alphanumeric() || matches!(bytes[at - 1], b'-' | b'_'));
        begins && window[..name.len()].eq_ignore_ascii_case(name) && window[name.len()] == b'='
    })
}
