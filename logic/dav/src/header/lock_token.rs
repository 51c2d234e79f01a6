//! Lock tokens and the Lock-Token header.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::HeaderError;
use crate::text::trim;

/// A lock token or another state token: an absolute URI (RFC 4918 section 6.5).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct LockToken(Box<str>);

impl LockToken {
    /// Longest accepted token, in bytes.
    pub const BYTES_MAX: usize = 1_024;

    /// Creates a token: `urn:uuid:` and a version 4 UUID (RFC 9562 section 5.4) from 122 of the random bits.
    pub fn from_random(random: u128) -> Self {
        let versioned = random & !(0xf << 76) & !(0x3 << 62) | 0x4 << 76 | 0x2 << 62;
        let hex = format!("{versioned:032x}");
        let part = |from: usize, to: usize| hex.get(from..to).unwrap_or_default();
        let (a, b, c, d, e) = (part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32));
        Self(format!("urn:uuid:{a}-{b}-{c}-{d}-{e}").into())
    }

    /// Parses the Lock-Token header of UNLOCK: `<uri>` (RFC 4918 section 10.5).
    pub fn parse_header(text: &[u8]) -> Result<Self, HeaderError> {
        let inner = trim(text).strip_prefix(b"<").and_then(|text| text.strip_suffix(b">"));
        inner.and_then(Self::from_uri).ok_or(HeaderError::LockToken)
    }

    /// Parses an absolute URI without brackets.
    pub fn from_uri(uri: &[u8]) -> Option<Self> {
        let scheme_end = uri.iter().position(|byte| *byte == b':')?;
        let scheme = &uri[..scheme_end];
        let sound = uri.len() <= Self::BYTES_MAX
            && scheme.first().is_some_and(u8::is_ascii_alphabetic)
            && scheme.iter().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte))
            && uri.len() > scheme_end + 1
            && uri.iter().all(|byte| byte.is_ascii_graphic() && !b"<>\"".contains(byte));
        let uri = std::str::from_utf8(uri).ok().filter(|_| sound)?;
        Some(Self(uri.into()))
    }

    /// Returns the URI.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Formats the Lock-Token header of a LOCK response.
    pub fn header(&self) -> String {
        format!("<{}>", self.0)
    }
}

/// Formats the URI without brackets.
impl fmt::Display for LockToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for LockToken {
    type Error = HeaderError;

    fn try_from(uri: String) -> Result<Self, HeaderError> {
        Self::from_uri(uri.as_bytes()).ok_or(HeaderError::LockToken)
    }
}

impl From<LockToken> for String {
    fn from(token: LockToken) -> Self {
        token.0.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_token_is_a_uuid_of_version_4() {
        assert_eq!(LockToken::from_random(0).as_str(), "urn:uuid:00000000-0000-4000-8000-000000000000");
        assert_eq!(
            LockToken::from_random(u128::MAX).as_str(),
            "urn:uuid:ffffffff-ffff-4fff-bfff-ffffffffffff"
        );
    }

    #[test]
    fn a_token_is_an_absolute_uri_in_brackets() {
        let token = LockToken::from_random(0x1234_5678_9abc);
        assert_eq!(LockToken::parse_header(token.header().as_bytes()), Ok(token));
        assert!(LockToken::parse_header(b" <opaquelocktoken:a-b> ").is_ok());
        for text in [
            "",
            "<>",
            "urn:x:y",
            "<urn:x:y",
            "<x>",
            "<:x>",
            "<a:>",
            "<a: b>",
            "<1a:b>",
            "<a:b><a:c>",
            "<a:\u{e9}>",
        ] {
            assert_eq!(LockToken::parse_header(text.as_bytes()), Err(HeaderError::LockToken), "{text}");
        }
    }
}
