//! The `Authorization` header: bearer tokens and Basic credentials.

use std::fmt;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use crate::percent;

/// Content of an `Authorization` header.
#[derive(Clone, PartialEq, Eq)]
pub enum Authorization {
    /// A bearer token (RFC 6750 section 2.1).
    Bearer(String),
    /// A user and a password (RFC 7617).
    Basic {
        /// Text before the first colon.
        user: String,
        /// Text after the first colon.
        password: String,
    },
    /// Credentials of another scheme.
    Other,
}

/// Reason why an `Authorization` header is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeaderFault {
    /// The value is longer than [`Authorization::BYTES_MAX`].
    TooLong,
    /// The bearer token is empty or has characters that tokens cannot contain.
    Bearer,
    /// The Basic credentials are not base64 of UTF-8 text with a colon and without control characters.
    Basic,
}

/// Decoder of standard base64. Padding is optional because some clients omit it.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

impl Authorization {
    /// Maximum length of the value, in bytes.
    pub const BYTES_MAX: usize = 20 * 1024;
}

/// Decodes a user and a password in the form that OAuth clients write them (RFC 6749 section 2.3.1): each is
/// encoded as in a form. Returns `None` if that changes neither.
pub fn decode_client_credentials(user: &str, password: &str) -> Option<(String, String)> {
    let decoded = (percent::decode_form(user)?, percent::decode_form(password)?);
    (decoded.0 != user || decoded.1 != password).then_some(decoded)
}

/// Parses the value of an `Authorization` header.
///
/// # Errors
/// If a bearer token or Basic credentials do not have the form of their scheme, or if the value is too long.
pub fn parse_authorization(value: &str) -> Result<Authorization, HeaderFault> {
    if value.len() > Authorization::BYTES_MAX {
        return Err(HeaderFault::TooLong);
    }
    let (scheme, credentials) = value.trim().split_once(' ').unwrap_or((value.trim(), ""));
    let credentials = credentials.trim_start();
    if scheme.eq_ignore_ascii_case("bearer") {
        let in_token = |b: u8| b.is_ascii_alphanumeric() || b"-._~+/=".contains(&b);
        if credentials.is_empty() || !credentials.bytes().all(in_token) {
            return Err(HeaderFault::Bearer);
        }
        return Ok(Authorization::Bearer(credentials.to_owned()));
    }
    if !scheme.eq_ignore_ascii_case("basic") {
        return Ok(Authorization::Other);
    }
    let text = BASE64.decode(credentials).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let text = text.filter(|text| !text.chars().any(char::is_control)).ok_or(HeaderFault::Basic)?;
    let (user, password) = text.split_once(':').ok_or(HeaderFault::Basic)?;
    Ok(Authorization::Basic { user: user.to_owned(), password: password.to_owned() })
}

/// Shows the scheme without the secret.
impl fmt::Debug for Authorization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bearer(_) => "Bearer(..)",
            Self::Basic { .. } => "Basic(..)",
            Self::Other => "Other",
        })
    }
}

impl fmt::Display for HeaderFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooLong => "the Authorization header is too long",
            Self::Bearer => "no token after Bearer",
            Self::Basic => "no user and password after Basic",
        })
    }
}

impl std::error::Error for HeaderFault {}
