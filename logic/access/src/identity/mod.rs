//! Who is asking, as far as a request has proved it.
//!
//! A request may carry several credentials. What counts: **a bearer token, else a client certificate, else a password,
//! else nobody.** Only that one counts; rights are never added up, so a token that was narrowed on purpose is not widened by
//! the certificate of the machine that presents it. A credential that is presented and does not hold ends the request: it
//! never falls back to a weaker one or to anonymous.

mod dn;
mod from_proxy;
mod token;
mod vo_map;
mod x509;

pub use dn::{DnError, rfc2253_from_slashes};
pub use from_proxy::{ProxyHeaderFault, TrustedProxies, certificate_from_headers};
pub use token::TokenIdentity;
pub use vo_map::{VoMap, VoMapError};
pub use x509::{Voms, X509Subject};

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::jwt::TokenError;
use crate::text::Printable;
use crate::wlcg::ScopeSet;

/// Who is asking.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Identity {
    /// Nobody in particular.
    #[default]
    Anonymous,
    /// The bearer of a token from an issuer that is trusted.
    Token(Box<TokenIdentity>),
    /// The subject of a client certificate.
    X509(Box<X509Subject>),
    /// A user with a password.
    Basic(BasicUser),
    /// The bearer of a token that Weir itself has issued: it may do what its holder may, within its scopes.
    Delegated(Box<Delegation>),
}

/// A user whose password was right.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BasicUser {
    /// The name before the colon.
    pub name: String,
}

/// What one of Weir's own tokens stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delegation {
    /// Who asked for the token.
    pub holder: Identity,
    /// What it is limited to; their paths are from the root of the server.
    pub scopes: ScopeSet,
    /// The storage area in which its holder has proved who they are.
    pub area: String,
    /// A keyed digest of what the holder's password was checked with, if it was a password.
    pub proof: Option<String>,
    /// Its end, in seconds since 1970.
    pub expires_unix_secs: u64,
    /// Its id (`jti`).
    pub token_id: String,
}

/// What a request presents, each already verified by whoever knows how.
#[derive(Debug, Default)]
pub struct Presented {
    /// From `Authorization: Bearer`, or `access_token` in the query where that is allowed.
    pub token: Option<Result<Identity, TokenError>>,
    /// From the TLS session, or from a trusted proxy's headers.
    pub certificate: Option<X509Subject>,
    /// From `Authorization: Basic`: whether the password was right.
    pub basic: Option<Result<BasicUser, BadPassword>>,
}

/// The user does not exist, or the password is wrong: which of the two is nobody's business.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadPassword;

/// A credential that was presented and does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CredentialFault {
    /// The token.
    Token(TokenError),
    /// The password.
    Password,
    /// A token and a password in one request: one of them is not meant for us.
    TokenAndPassword,
}

impl Presented {
    /// The one identity that counts.
    ///
    /// # Errors
    /// Something was presented that does not hold.
    pub fn settle(self) -> Result<Identity, CredentialFault> {
        match (self.token, self.basic) {
            (Some(_), Some(_)) => Err(CredentialFault::TokenAndPassword),
            (Some(token), None) => token.map_err(CredentialFault::Token),
            (None, Some(Err(BadPassword))) => Err(CredentialFault::Password),
            (None, basic) => Ok(match (self.certificate, basic) {
                (Some(certificate), _) => Identity::X509(Box::new(certificate)),
                (None, Some(Ok(user))) => Identity::Basic(user),
                (None, _) => Identity::Anonymous,
            }),
        }
    }
}

impl Identity {
    /// Whether it is anybody in particular.
    pub fn is_authenticated(&self) -> bool {
        match self {
            Self::Anonymous => false,
            Self::Delegated(delegation) => delegation.holder.is_authenticated(),
            _ => true,
        }
    }

    /// When it ends, if it does: seconds since 1970.
    pub fn expires_unix_secs(&self) -> Option<u64> {
        match self {
            Self::Anonymous | Self::Basic(_) => None,
            Self::Token(token) => Some(token.expires_unix_secs),
            Self::X509(subject) => subject.expires_unix_secs(),
            Self::Delegated(delegation) => Some(delegation.expires_unix_secs),
        }
    }

    /// Gives a certificate, shown now or when an own token was got, the organisations that `map` gives it; nobody else has any.
    pub fn map_vos(&mut self, map: &VoMap) {
        match self {
            Self::X509(subject) => {
                subject.mapped_vos = map.vos(&subject.subject, subject.issuer.as_deref());
            }
            Self::Delegated(delegation) => delegation.holder.map_vos(map),
            Self::Anonymous | Self::Token(_) | Self::Basic(_) => {}
        }
    }
}

/// As reasons and logs name it; never with a secret.
impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Anonymous => f.write_str("anonymous"),
            Self::Token(token) => write!(f, "token of {} from {}", Printable(&token.subject), token.issuer),
            Self::X509(subject) => write!(f, "certificate of {}", Printable(&subject.subject)),
            Self::Basic(user) => write!(f, "user {}", Printable(&user.name)),
            Self::Delegated(delegation) => write!(f, "own token for {}", delegation.holder),
        }
    }
}

impl fmt::Display for CredentialFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Token(error) => write!(f, "token: {error}"),
            Self::Password => f.write_str("wrong user or password"),
            Self::TokenAndPassword => f.write_str("a token and a password in one request"),
        }
    }
}

impl std::error::Error for CredentialFault {}
