//! Metadata documents in which issuers publish their addresses.

use std::fmt;

use serde::Deserialize;

/// Metadata that an issuer publishes (OpenID Connect Discovery 1.0 section 3, RFC 8414 section 2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Metadata {
    /// Address of the issuer's key set.
    pub jwks_uri: String,
    /// Address of the token endpoint, if the issuer states one.
    pub token_endpoint: Option<String>,
}

/// Reason why a metadata document is rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MetadataError {
    /// The document is longer than [`Metadata::BYTES_MAX`].
    TooLong,
    /// The document is not a JSON object with `issuer` and `jwks_uri`.
    Malformed,
    /// The document names another issuer, so its keys are not this issuer's keys.
    OtherIssuer,
    /// An address is not https.
    NotHttps(&'static str),
}

#[derive(Deserialize)]
struct Document {
    issuer: String,
    jwks_uri: String,
    token_endpoint: Option<String>,
}

impl Metadata {
    /// Maximum size of the document, in bytes.
    pub const BYTES_MAX: usize = 256 * 1024;

    /// Parses the document from one of the [`metadata_urls`] of `issuer`. If the configured issuer itself is
    /// `http:` (in a test setup), its keys may be at an `http:` address too.
    ///
    /// # Errors
    /// If the document is malformed or too long, names another issuer, or has an address that is not https.
    pub fn parse(document: &[u8], issuer: &str) -> Result<Self, MetadataError> {
        if document.len() > Self::BYTES_MAX {
            return Err(MetadataError::TooLong);
        }
        let document: Document = serde_json::from_slice(document).map_err(|_| MetadataError::Malformed)?;
        if document.issuer != issuer {
            return Err(MetadataError::OtherIssuer);
        }
        let safe = |url: &str| {
            let (scheme, rest) = url.split_once("://").unwrap_or(("", ""));
            let plain = scheme == "http" && issuer.starts_with("http://");
            !rest.is_empty()
                && (scheme == "https" || plain)
                && !url.contains(|c: char| c.is_control() || c == ' ')
        };
        if !safe(&document.jwks_uri) {
            return Err(MetadataError::NotHttps("jwks_uri"));
        }
        if document.token_endpoint.as_deref().is_some_and(|url| !safe(url)) {
            return Err(MetadataError::NotHttps("token_endpoint"));
        }
        Ok(Self { jwks_uri: document.jwks_uri, token_endpoint: document.token_endpoint })
    }
}

/// Returns the addresses at which to look for an issuer's metadata, in the order to try. OpenID Connect
/// Discovery appends its path to that of the issuer; RFC 8414 section 3 inserts it before.
pub fn metadata_urls(issuer: &str) -> Vec<String> {
    let issuer = issuer.trim_end_matches('/');
    let after_scheme = issuer.find("://").map_or(0, |at| at + 3);
    let path_at = issuer[after_scheme..].find('/').map_or(issuer.len(), |at| after_scheme + at);
    let (origin, path) = issuer.split_at(path_at);
    vec![
        format!("{issuer}/.well-known/openid-configuration"),
        format!("{origin}/.well-known/oauth-authorization-server{path}"),
    ]
}

impl fmt::Display for MetadataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => write!(f, "longer than {} bytes", Metadata::BYTES_MAX),
            Self::Malformed => f.write_str("no JSON object with \"issuer\" and \"jwks_uri\""),
            Self::OtherIssuer => f.write_str("it speaks of another issuer"),
            Self::NotHttps(member) => write!(f, "\"{member}\" is no https address"),
        }
    }
}

impl std::error::Error for MetadataError {}
