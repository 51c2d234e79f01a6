//! Distinguished names: conversion from OpenSSL's form with slashes to RFC 2253.

use std::fmt;

/// Reason why a text is not a distinguished name with slashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DnError {
    /// The text does not begin with `/`.
    NoSlash,
    /// The text has a part before the first attribute, or an attribute without a value.
    NoAttribute,
}

/// Converts `/C=IT/O=Example/CN=Jo` to the form of RFC 2253: `CN=Jo,O=Example,C=IT`. A slash belongs to a
/// value (`CN=host/a.example`) if no `NAME=` follows it.
///
/// # Errors
/// If the text is not a distinguished name with slashes.
pub fn rfc2253_from_slashes(text: &str) -> Result<String, DnError> {
    let inner = text.strip_prefix('/').ok_or(DnError::NoSlash)?;
    let mut parts: Vec<(&str, String)> = Vec::new();
    for piece in inner.split('/') {
        match piece.split_once('=').filter(|(name, _)| is_attribute(name)) {
            Some((name, value)) => parts.push((name, value.to_owned())),
            None => {
                let (_, value) = parts.last_mut().ok_or(DnError::NoAttribute)?;
                value.push('/');
                value.push_str(piece);
            }
        }
    }
    if parts.iter().any(|(_, value)| value.is_empty()) {
        return Err(DnError::NoAttribute);
    }
    let written = parts.iter().rev().map(|(name, value)| format!("{name}={}", escaped(value)));
    Ok(written.collect::<Vec<_>>().join(","))
}

/// Returns true for a short attribute name or a dotted number (RFC 2253 section 3).
fn is_attribute(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'.' || b == b'-')
}

/// Escapes a value (RFC 2253 section 2.4).
fn escaped(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    let last = value.chars().count().saturating_sub(1);
    for (at, c) in value.chars().enumerate() {
        let at_edge = (at == 0 && matches!(c, ' ' | '#')) || (at == last && c == ' ');
        if at_edge || matches!(c, ',' | '+' | '"' | '\\' | '<' | '>' | ';') {
            text.push('\\');
        }
        text.push(c);
    }
    text
}

impl fmt::Display for DnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoSlash => "a distinguished name with slashes begins with /",
            Self::NoAttribute => "a distinguished name consists of /NAME=value",
        })
    }
}

impl std::error::Error for DnError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_turned_round_and_escaped() {
        for (slashes, expected) in [
            ("/C=IT/O=Example/CN=Jo", "CN=Jo,O=Example,C=IT"),
            ("/O=A, B/CN=x", "CN=x,O=A\\, B"),
            ("/DC=ch/CN=host/a.example", "CN=host/a.example,DC=ch"),
            ("/CN= x ", "CN=\\ x\\ "),
            ("/1.2.3=x", "1.2.3=x"),
        ] {
            assert_eq!(rfc2253_from_slashes(slashes).as_deref(), Ok(expected), "{slashes}");
        }
    }

    #[test]
    fn what_is_no_name_is_refused() {
        assert_eq!(rfc2253_from_slashes("CN=Jo"), Err(DnError::NoSlash));
        assert_eq!(rfc2253_from_slashes("/Jo"), Err(DnError::NoAttribute));
        assert_eq!(rfc2253_from_slashes("/CN="), Err(DnError::NoAttribute));
        assert_eq!(rfc2253_from_slashes("/"), Err(DnError::NoAttribute));
    }
}
