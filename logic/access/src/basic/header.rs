use std::fmt;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use crate::percent;

/// What an `Authorization` header carries.
#[derive(Clone, PartialEq, Eq)]
pub enum Authorization {
    /// A bearer token (RFC 6750 section 2.1).
    Bearer(String),
    /// A user and a password (RFC 7617).
    Basic {
        /// Before the first colon.
        user: String,
        /// After it.
        password: String,
    },
    /// Another scheme.
    Other,
}

/// Why an `Authorization` header cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeaderFault {
    /// Over [`Authorization::BYTES_MAX`].
    TooLong,
    /// A bearer token with characters that none has.
    Bearer,
    /// Not base64 of UTF-8 with a colon and without control characters.
    Basic,
}

/// Clients write base64 with padding and without.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

impl Authorization {
    /// Longest value, in bytes.
    pub const BYTES_MAX: usize = 20 * 1024;
}

/// User and password as OAuth's clients write them (RFC 6749 section 2.3.1): each encoded as in a form. `None`: they are no
/// other ones that way.
pub fn decode_client_credentials(user: &str, password: &str) -> Option<(String, String)> {
    let decoded = (percent::decode_form(user)?, percent::decode_form(password)?);
    (decoded.0 != user || decoded.1 != password).then_some(decoded)
}

/// Reads the value of an `Authorization` header.
///
/// # Errors
/// It is of a scheme that is known here, and not as that scheme has it.
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

/// Without the secret.
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
