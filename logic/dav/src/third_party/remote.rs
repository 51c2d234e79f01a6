//! URLs of other servers, and redirections to them.

use std::fmt;

use crate::header::{Destination, HeaderError, OwnNames, RemoteUrl, Scheme};
use crate::path::PathLimits;
use crate::text::trim;

impl RemoteUrl {
    /// Parses an absolute URL.
    pub fn parse(text: &[u8], limits: &PathLimits) -> Result<Self, HeaderError> {
        match Destination::parse(text, &OwnNames::default(), limits)? {
            Destination::Elsewhere(url) => Ok(url),
            Destination::Own(_) => Err(HeaderError::Destination),
        }
    }

    /// Resolves a redirection from this URL; `location` is the Location header of its server (RFC 9110
    /// section 10.2.2).
    pub fn redirected(&self, location: &[u8], limits: &PathLimits) -> Result<Self, HeaderError> {
        let location = trim(location);
        let location = location.split(|byte| *byte == b'#').next().unwrap_or_default();
        let text = std::str::from_utf8(location).map_err(|_| HeaderError::Destination)?;
        let scheme = match self.scheme {
            Scheme::Http => "http",
            Scheme::Https => "https",
        };
        let target = |target: String| Self::parse(format!("{scheme}://h{target}").as_bytes(), limits);
        let here = |read: Self| Self { target: read.target, ..self.clone() };
        let path = self.target.split('?').next().unwrap_or_default();
        match text {
            "" => Err(HeaderError::Destination),
            text if text.starts_with("//") => Self::parse(format!("{scheme}:{text}").as_bytes(), limits),
            text if text.starts_with('/') => target(text.to_owned()).map(here),
            text if text.starts_with('?') => target(format!("{path}{text}")).map(here),
            text if text.contains("://") => Self::parse(text.as_bytes(), limits),
            text => {
                let directory = path.rfind('/').map_or("/", |slash| &path[..=slash]);
                target(format!("{directory}{text}")).map(here)
            }
        }
    }

    /// Returns true if both URLs have the same scheme, host and port. Credentials for one may then be sent to
    /// the other.
    pub fn is_same_origin(&self, other: &Self) -> bool {
        (self.scheme, &self.host, self.port) == (other.scheme, &other.host, other.port)
    }

    /// Returns host and port, which identify the server of a transfer. A trailing dot of the name is removed.
    pub fn peer(&self) -> String {
        format!("{}:{}", self.host.strip_suffix('.').unwrap_or(&self.host), self.port)
    }

    /// Returns the Host header, without the default port of the scheme (RFC 9110 section 7.2).
    pub fn authority(&self) -> String {
        let usual = match self.scheme {
            Scheme::Http => 80,
            Scheme::Https => 443,
        };
        if self.port == usual { self.host.clone() } else { format!("{}:{}", self.host, self.port) }
    }
}

/// Formats the URL without its query, which may contain credentials.
impl fmt::Display for RemoteUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = match self.scheme {
            Scheme::Http => "http",
            Scheme::Https => "https",
        };
        let path = self.target.split('?').next().unwrap_or_default();
        write!(f, "{scheme}://{}{path}", self.authority())
    }
}
