//! Identity of the client, as far as the request has proved it.
//!
//! A request may carry several credentials. Exactly one of them counts. The order is: **bearer token, client
//! certificate, password, anonymous**. Rights are never combined, so the certificate of the presenting
//! machine does not widen a token that was narrowed on purpose. An invalid credential fails the request. Weir
//! never falls back to a weaker credential or to anonymous.

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

/// Identity of the client.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Identity {
    /// A client without credentials.
    #[default]
    Anonymous,
    /// The bearer of a token from a trusted issuer.
    Token(Box<TokenIdentity>),
    /// The subject of a client certificate.
    X509(Box<X509Subject>),
    /// A user with a password.
    Basic(BasicUser),
    /// The bearer of a token that Weir issued. It has the rights of the token's holder, within the token's
    /// scopes.
    Delegated(Box<Delegation>),
}

/// A user with a verified password.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BasicUser {
    /// User name, the part before the colon.
    pub name: String,
}

/// The rights that one of Weir's own tokens delegates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delegation {
    /// Identity that requested the token.
    pub holder: Identity,
    /// Scopes that limit the token; their paths start at the root of the server.
    pub scopes: ScopeSet,
    /// Storage area in which the holder authenticated.
    pub area: String,
    /// Keyed digest of the hash that the holder's password was checked against, if the holder used a
    /// password.
    pub proof: Option<String>,
    /// Expiry of the token, in seconds since 1970.
    pub expires_unix_secs: u64,
    /// Token id (`jti`).
    pub token_id: String,
}

/// The credentials of a request, each verified by the caller.
#[derive(Debug, Default)]
pub struct Presented {
    /// Token from `Authorization: Bearer`, or from `access_token` in the query where that is allowed.
    pub token: Option<Result<Identity, TokenError>>,
    /// Certificate from the TLS session, or from a trusted proxy's headers.
    pub certificate: Option<X509Subject>,
    /// Result of the password check, from `Authorization: Basic`.
    pub basic: Option<Result<BasicUser, BadPassword>>,
}

/// The error for an unknown user or a wrong password. It does not say which of the two, so that clients
/// cannot discover users.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BadPassword;

/// A credential that was presented and is invalid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CredentialFault {
    /// The token is invalid.
    Token(TokenError),
    /// The password is wrong.
    Password,
    /// The request has a token and a password; at most one of them can be meant for Weir.
    TokenAndPassword,
}

impl Presented {
    /// Returns the one identity that counts.
    ///
    /// # Errors
    /// If a presented credential is invalid.
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
    /// Returns true if the client is not anonymous.
    pub fn is_authenticated(&self) -> bool {
        match self {
            Self::Anonymous => false,
            Self::Delegated(delegation) => delegation.holder.is_authenticated(),
            _ => true,
        }
    }

    /// Returns the expiry of the credential in seconds since 1970, or `None` if it has none.
    pub fn expires_unix_secs(&self) -> Option<u64> {
        match self {
            Self::Anonymous | Self::Basic(_) => None,
            Self::Token(token) => Some(token.expires_unix_secs),
            Self::X509(subject) => subject.expires_unix_secs(),
            Self::Delegated(delegation) => Some(delegation.expires_unix_secs),
        }
    }

    /// Adds the organisations that `map` assigns to a certificate. The certificate may be presented now or
    /// belong to the holder of one of Weir's own tokens. Other identities have no mapped organisations.
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

/// Shows the identity as reasons and logs name it; never with a secret.
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
