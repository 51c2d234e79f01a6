//! Removal of tokens from URLs (RFC 6750 section 2.3) before they are logged.
//!
//! The author of a URL chooses its encoding. So a name is recognised after several percent-decodings, also
//! within values and paths, because a redirect address is often a parameter of another URL. A piece that
//! looks like a secret is removed completely: removing too much is better than too little.

use std::borrow::Cow;

use crate::percent;

/// Names of the parameters whose values are secrets.
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

/// Replacement for a secret.
pub const REDACTED: &str = "REDACTED";

/// Maximum number of decodings; legitimate URLs do not have more layers.
const DECODINGS_MAX: usize = 8;

/// Returns `url`, or any part of one, without the values of [`SECRET_NAMES`].
pub fn redact_url(url: &str) -> Cow<'_, str> {
    let is_separator = |c: char| matches!(c, '?' | '&' | ';' | '#' | '/' | ' ' | ',' | '"' | '\'');
    // The usual case needs only one scan: the URL has no assignment and no escape.
    if !url.contains(['=', '%']) {
        return Cow::Borrowed(url);
    }
    if !url.split(is_separator).any(|piece| secret_in(piece).is_some()) {
        return Cow::Borrowed(url);
    }
    let mut text = String::with_capacity(url.len());
    // In a query, all text after a secret's name up to the next parameter belongs to the secret.
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

/// Returns the name of a secret in one piece of a URL, at any layer of encoding.
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
    // Still encoded after the maximum number of decodings: treat it as a secret.
    Some(SECRET_NAMES[0])
}

/// Returns true if the text contains `name=`, in any case, at a position where a name can begin.
fn assigns(bytes: &[u8], name: &[u8]) -> bool {
    let candidates = bytes.windows(name.len() + 1).enumerate();
    candidates.into_iter().any(|(at, window)| {
        let begins =
            at == 0 || !(bytes[at - 1].is_ascii_alphanumeric() || matches!(bytes[at - 1], b'-' | b'_'));
        begins && window[..name.len()].eq_ignore_ascii_case(name) && window[name.len()] == b'='
    })
}
