//! Errors of request heads.

use std::fmt;

use super::HeaderFault;

/// The reason to refuse a request head. The connection is closed after the response, because the start of the
/// next request is uncertain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestError {
    /// The method is empty or has a byte that is not allowed in a token.
    MethodByte,
    /// The method is over [`super::Method::BYTES_MAX`].
    MethodTooLong,
    /// More than one space between the parts of the request line, or one at its end.
    RequestLineSpace,
    /// The target is over the limit.
    TargetTooLong,
    /// A control character, DEL or `#` in the target.
    TargetByte,
    /// The target has none of the four forms, or not the one that its method requires.
    TargetForm,
    /// An invalid authority in the target.
    Authority,
    /// The request line has no HTTP version: HTTP/0.9.
    NoVersion,
    /// The request line does not end in `HTTP/digit.digit`.
    VersionForm,
    /// The version is neither 1.0 nor 1.1.
    Version,
    /// HTTP/1.1 without Host.
    NoHost,
    /// A second Host line.
    SecondHost,
    /// An empty or invalid Host.
    Host,
    /// Max-Forwards of a TRACE or OPTIONS is not a number, or occurs twice.
    MaxForwards,
    /// The header section is invalid.
    Header(HeaderFault),
}

impl RequestError {
    /// Returns the status of the response: 400, 414, 431, 501 or 505.
    pub const fn status(self) -> u16 {
        match self {
            Self::TargetTooLong => 414,
            Self::MethodTooLong => 501,
            Self::Version => 505,
            Self::Header(fault) if fault.is_limit() => 431,
            _ => 400,
        }
    }
}

impl From<HeaderFault> for RequestError {
    fn from(fault: HeaderFault) -> Self {
        Self::Header(fault)
    }
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::MethodByte => "the method is not a token (RFC 9110 section 9.1)",
            Self::MethodTooLong => "the method is too long (RFC 9112 section 3)",
            Self::RequestLineSpace => "a space too many in the request line (RFC 9112 section 3)",
            Self::TargetTooLong => "the request target is too long (RFC 9112 section 3)",
            Self::TargetByte => {
                "a character that is not permitted in the request target (RFC 9112 section 3.2)"
            }
            Self::TargetForm => "the request target has no form that fits its method (RFC 9112 section 3.2)",
            Self::Authority => "the authority in the request target is invalid (RFC 9110 section 4.2)",
            Self::NoVersion => "the request line has no version: HTTP/0.9 (RFC 9112 section 3)",
            Self::VersionForm => "the request line does not end in a version (RFC 9112 section 2.3)",
            Self::Version => "an HTTP version other than 1.x (RFC 9112 section 2.3)",
            Self::NoHost => "HTTP/1.1 without Host (RFC 9112 section 3.2)",
            Self::SecondHost => "more than one Host line (RFC 9112 section 3.2)",
            Self::Host => "Host is invalid (RFC 9110 section 7.2)",
            Self::MaxForwards => {
                "Max-Forwards of TRACE or OPTIONS is not one number (RFC 9110 section 7.6.2)"
            }
            Self::Header(fault) => return fault.fmt(f),
        })
    }
}

impl std::error::Error for RequestError {}
