//! The claims of Weir's own tokens, their holders, and their binding to one request.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::AccessPath;
use crate::identity::{BasicUser, Identity, TokenIdentity, X509Subject};
use crate::jwt::TokenError;
use crate::wlcg::{ProfileVersion, ScopeSet};

/// The claims of one of Weir's own tokens.
#[derive(Serialize, Deserialize)]
pub(super) struct OwnClaims {
    pub(super) iss: String,
    pub(super) aud: Vec<String>,
    pub(super) sub: String,
    pub(super) iat: u64,
    pub(super) nbf: u64,
    pub(super) exp: u64,
    pub(super) jti: String,
    pub(super) scope: String,
    /// Profile version, for other services that verify the token.
    #[serde(rename = "wlcg.ver")]
    pub(super) profile: String,
    #[serde(rename = "weir.area")]
    pub(super) area: String,
    #[serde(rename = "weir.holder")]
    pub(super) holder: Holder,
    /// Proof of the holder's password; see [`OwnKeys::proof`](super::key::OwnKeys::proof).
    #[serde(rename = "weir.proof", default, skip_serializing_if = "Option::is_none")]
    pub(super) proof: Option<String>,
    #[serde(rename = "weir.bound", default, skip_serializing_if = "Option::is_none")]
    pub(super) binding: Option<Binding>,
}

/// The identity that requested one of Weir's own tokens.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Holder {
    Anonymous,
    Token {
        issuer: String,
        subject: String,
        client: Option<String>,
        groups: Vec<String>,
        scopes: Vec<String>,
        /// Audience and profile of the holder's token, because the rules for them may change until the own
        /// token is used.
        #[serde(default)]
        audience: Vec<String>,
        #[serde(default)]
        profile: Option<String>,
        expires: u64,
    },
    X509(X509Subject),
    Basic(BasicUser),
}

/// The one request that a token is valid for. A redirect to a node carries such a token in a URL, where third
/// parties can easily see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Binding {
    /// Path from the root of the server, as [`AccessPath`] prints it.
    pub path: String,
    /// Request method. A token for GET is also valid for HEAD.
    pub method: String,
    /// Client address.
    pub client: IpAddr,
}

/// The request that presents a token.
#[derive(Debug, Clone, Copy)]
pub struct Presentation<'a> {
    /// Path of the request.
    pub path: &'a AccessPath,
    /// Method of the request.
    pub method: &'a str,
    /// Address of the client.
    pub client: IpAddr,
}

impl Holder {
    /// Returns the holder for an identity, or `None` for the bearer of one of Weir's own tokens, who gets no
    /// further token.
    pub(super) fn of(identity: &Identity) -> Option<Self> {
        Some(match identity {
            Identity::Anonymous => Self::Anonymous,
            Identity::Token(token) => Self::Token {
                issuer: token.issuer.clone(),
                subject: token.subject.clone(),
                client: token.client_id.clone(),
                groups: token.groups.clone(),
                scopes: token.scopes.clone(),
                audience: token.audience.clone(),
                profile: token.profile.map(|version| version.to_string()),
                expires: token.expires_unix_secs,
            },
            Identity::X509(subject) => Self::X509((**subject).clone()),
            Identity::Basic(user) => Self::Basic(user.clone()),
            Identity::Delegated(_) => return None,
        })
    }

    pub(super) fn into_identity(self) -> Identity {
        match self {
            Self::Anonymous => Identity::Anonymous,
            Self::X509(subject) => Identity::X509(Box::new(subject)),
            Self::Basic(user) => Identity::Basic(user),
            Self::Token { issuer, subject, client, groups, scopes, audience, profile, expires } => {
                Identity::Token(Box::new(TokenIdentity {
                    issuer,
                    subject,
                    client_id: client,
                    groups,
                    storage_scopes: ScopeSet::parse(scopes.iter().map(String::as_str)),
                    scopes,
                    audience,
                    profile: profile.as_deref().and_then(ProfileVersion::parse),
                    expires_unix_secs: expires,
                    token_id: None,
                }))
            }
        }
    }

    /// Returns `sub`, which is unique to the holder. It contains the kind of credential, and the area for
    /// users and certificates, because their names are valid only in one area. User names contain no colon.
    pub(super) fn subject(&self, area: &str) -> String {
        match self {
            Self::Anonymous => "anonymous".to_owned(),
            Self::Token { issuer, subject, .. } => format!("token:{issuer}#{subject}"),
            Self::X509(x509) => format!("certificate:{area}:{}", x509.subject),
            Self::Basic(user) => format!("user:{area}:{}", user.name),
        }
    }
}

impl Binding {
    /// Binds a token to exactly this request.
    pub fn to(presentation: &Presentation<'_>) -> Self {
        Self {
            path: presentation.path.to_string(),
            method: presentation.method.to_owned(),
            client: presentation.client.to_canonical(),
        }
    }

    pub(super) fn check(&self, presentation: &Presentation<'_>) -> Result<(), TokenError> {
        let head_for_get = self.method == "GET" && presentation.method == "HEAD";
        if self.path != presentation.path.to_string() {
            Err(TokenError::Bound("path"))
        } else if self.method != presentation.method && !head_for_get {
            Err(TokenError::Bound("method"))
        } else if self.client != presentation.client.to_canonical() {
            Err(TokenError::Bound("client"))
        } else {
            Ok(())
        }
    }
}
