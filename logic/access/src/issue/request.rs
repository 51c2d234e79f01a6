//! Requests to the token endpoint and the responses to them.

use std::fmt;

use super::macaroon::operation_of;
use super::token::{IssueError, Issued};
use crate::AccessPath;
use crate::percent;
use crate::wlcg::{ScopeSet, StorageScope};

/// A request to the token endpoint (RFC 6749 section 4.4.2). As an extension, it has a `lifetime` in seconds.
/// Clients that request macaroons through OAuth send `scopes` and `expire_in` instead, with scopes such as
/// `DOWNLOAD:/path`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRequest {
    /// Requested storage scopes; an empty set requests all. Other scopes are ignored, because Weir does not
    /// issue them (RFC 6749 section 3.3).
    pub scopes: ScopeSet,
    /// Requested lifetime, in seconds.
    pub lifetime_secs: Option<u64>,
}

/// The errors of RFC 6749 section 5.2 that the endpoint returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RequestError {
    /// `invalid_request`, with the reason.
    Invalid(&'static str),
    /// `unsupported_grant_type`
    GrantType,
    /// `invalid_scope`, with the reason.
    Scope(&'static str),
    /// `invalid_client`: the client has not authenticated.
    Client,
    /// `unauthorized_client`: this client may not get a token.
    Unauthorized(&'static str),
    /// `slow_down` (RFC 8628): the client sends too many requests. It may try again after this number of
    /// seconds.
    TooOften(u64),
    /// `server_error`: Weir failed. RFC 6749 section 5.2 has no code for this, so the code is that of section
    /// 4.1.2.1.
    Server,
}

impl TokenRequest {
    /// Maximum length of the body, in bytes.
    pub const BYTES_MAX: usize = 64 * 1024;
    /// Maximum length of `scope`, in characters.
    pub const SCOPE_CHARS_MAX: usize = 16_384;

    /// Parses a form (`application/x-www-form-urlencoded`) and ignores unknown parameters (RFC 6749 section
    /// 3.2).
    ///
    /// # Errors
    /// If the request is invalid, with one of the errors of RFC 6749 section 5.2.
    pub fn parse(content_type: Option<&str>, body: &[u8]) -> Result<Self, RequestError> {
        use RequestError::{GrantType, Invalid, Scope};
        let media = content_type.and_then(|value| value.split(';').next()).map(str::trim);
        if !media.is_some_and(|media| media.eq_ignore_ascii_case("application/x-www-form-urlencoded")) {
            return Err(Invalid("the body must be a form"));
        }
        if body.len() > Self::BYTES_MAX {
            return Err(Invalid("the form is too long"));
        }
        let body = std::str::from_utf8(body).map_err(|_| Invalid("the form is not UTF-8"))?;
        let (mut grant_type, mut scope, mut lifetime) = (None, None, None);
        for pair in body.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let decode = |text| percent::decode_form(text).ok_or(Invalid("the form is wrongly encoded"));
            let place = match decode(name)?.as_str() {
                "grant_type" => &mut grant_type,
                "scope" | "scopes" => &mut scope,
                "lifetime" | "expire_in" => &mut lifetime,
                _ => continue,
            };
            let value = decode(value)?;
            // A parameter without a value counts as missing; a duplicate one is an error (RFC 6749 section
            // 3.2).
            if !value.is_empty() && place.replace(value).is_some() {
                return Err(Invalid("a parameter is there twice"));
            }
        }
        match grant_type.as_deref() {
            None => return Err(Invalid("grant_type is missing")),
            Some("client_credentials") => {}
            Some(_) => return Err(GrantType),
        }
        let lifetime_secs = match lifetime {
            None => None,
            Some(text) => {
                let seconds = text.parse().ok().filter(|seconds| *seconds > 0);
                Some(seconds.ok_or(Invalid("lifetime is a number of seconds above zero"))?)
            }
        };
        let scope = scope.unwrap_or_default();
        if scope.chars().count() > Self::SCOPE_CHARS_MAX {
            return Err(Scope("the scope is too long"));
        }
        let words: Vec<String> =
            scope.split(' ').filter(|word| !word.is_empty()).map(of_activity).collect::<Result<_, _>>()?;
        let scopes = ScopeSet::parse(words.iter().map(String::as_str));
        if scopes.invalid() > 0 {
            return Err(Scope("a storage scope has no path, or one that cannot be used"));
        }
        if scopes.is_absent() && !scope.trim().is_empty() {
            return Err(Scope("none of the scopes is about storage"));
        }
        Ok(Self { scopes, lifetime_secs })
    }
}

/// Converts a macaroon activity (`DOWNLOAD:/path`) to a storage scope; returns other words unchanged.
fn of_activity(word: &str) -> Result<String, RequestError> {
    let Some((operation, path)) =
        word.split_once(':').and_then(|(activity, path)| Some((operation_of(activity)?, path)))
    else {
        return Ok(word.to_owned());
    };
    let wrong = |_| RequestError::Scope("an activity has no path, or one that cannot be used");
    let path = AccessPath::from_encoded(path).map_err(wrong)?;
    Ok(StorageScope { operation, path }.to_string())
}

/// Returns the body of a successful response (RFC 6749 section 5.1). The caller sends it with `Cache-Control:
/// no-store`.
pub fn token_response(issued: &Issued) -> String {
    serde_json::json!({
        "access_token": issued.token,
        "token_type": "Bearer",
        "expires_in": issued.expires_in_secs,
        "scope": issued.scope,
    })
    .to_string()
}

/// Returns status and body of an error response (RFC 6749 section 5.2).
pub fn error_response(error: &RequestError) -> (u16, String) {
    let (status, code) = match error {
        RequestError::Invalid(_) => (400, "invalid_request"),
        RequestError::GrantType => (400, "unsupported_grant_type"),
        RequestError::Scope(_) => (400, "invalid_scope"),
        RequestError::Client => (401, "invalid_client"),
        RequestError::Unauthorized(_) => (400, "unauthorized_client"),
        RequestError::TooOften(_) => (429, "slow_down"),
        RequestError::Server => (500, "server_error"),
    };
    (status, serde_json::json!({ "error": code, "error_description": error.to_string() }).to_string())
}

impl From<IssueError> for RequestError {
    fn from(error: IssueError) -> Self {
        match error {
            IssueError::NoScope => Self::Scope("none of the scopes asked for may be had"),
            IssueError::Anonymous => Self::Client,
            IssueError::AlreadyDelegated => {
                Self::Unauthorized("the bearer of one of our tokens gets no further one")
            }
            IssueError::Ended => Self::Invalid("the credential that it would rest on has ended"),
            IssueError::TooLarge => Self::Invalid("groups and scopes do not fit into a token"),
            IssueError::Signing => Self::Server,
        }
    }
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(why) | Self::Scope(why) | Self::Unauthorized(why) => f.write_str(why),
            Self::GrantType => f.write_str("only client_credentials"),
            Self::Client => {
                f.write_str("a token is for somebody in particular: credentials are missing or wrong")
            }
            Self::TooOften(seconds) => write!(f, "too many requests: ask again in {seconds} s"),
            Self::Server => f.write_str("it could not be signed"),
        }
    }
}

impl std::error::Error for RequestError {}
