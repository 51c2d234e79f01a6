//! Principals: the identities that a policy covers.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::dn_match::same_name;
use crate::identity::Identity;

/// A set of identities that a policy covers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Principal {
    /// All clients, with or without credentials.
    Anyone,
    /// All authenticated clients.
    AnyAuthenticatedUser,
    /// Clients without credentials.
    Anonymous,
    /// Members of an organisation, as VOMS states.
    Vo {
        /// Name of the organisation.
        vo: String,
    },
    /// Members of an organisation, as a VO map file states.
    VoMap {
        /// Name of the organisation.
        vo: String,
    },
    /// Holders of a VOMS group or role.
    Fqan {
        /// Group or role as VOMS writes it: `/cms/Role=production`.
        fqan: String,
    },
    /// Members of a group, as an issuer's token states.
    JwtGroup {
        /// Issuer (`iss`).
        issuer: String,
        /// Name of the group, compared byte by byte.
        group: String,
    },
    /// Bearers of a token with a scope.
    JwtScope {
        /// Issuer (`iss`).
        issuer: String,
        /// One word of `scope`, compared byte by byte.
        scope: String,
    },
    /// All bearers of a token of an issuer.
    JwtIssuer {
        /// Issuer (`iss`).
        issuer: String,
    },
    /// One subject of an issuer.
    JwtSubject {
        /// Issuer (`iss`).
        issuer: String,
        /// Subject (`sub`).
        subject: String,
    },
    /// One OAuth client of an issuer.
    JwtClient {
        /// Issuer (`iss`).
        issuer: String,
        /// Client id (`client_id` or `azp`).
        client: String,
    },
    /// One certificate subject.
    X509Subject {
        /// Distinguished name in the form of RFC 2253.
        subject: String,
    },
    /// One user with a password.
    User {
        /// User name, the part before the colon.
        name: String,
    },
}

impl Principal {
    /// Returns true if the identity belongs to this principal.
    pub fn admits(&self, identity: &Identity) -> bool {
        match (self, identity) {
            (Self::Anyone, _) => true,
            // One of Weir's own tokens counts as its holder.
            (_, Identity::Delegated(delegation)) => self.admits(&delegation.holder),
            (Self::AnyAuthenticatedUser, _) => identity.is_authenticated(),
            (Self::Anonymous, _) => !identity.is_authenticated(),
            (Self::Vo { vo }, Identity::X509(x509)) => x509.is_voms_member(vo),
            (Self::VoMap { vo }, Identity::X509(x509)) => x509.mapped_vos.contains(vo),
            (Self::Fqan { fqan }, Identity::X509(x509)) => {
                x509.voms.as_ref().is_some_and(|voms| voms.fqans.contains(fqan))
            }
            (Self::X509Subject { subject }, Identity::X509(x509)) => same_name(subject, &x509.subject),
            (Self::JwtGroup { issuer, group }, Identity::Token(token)) => {
                *issuer == token.issuer && token.groups.contains(group)
            }
            (Self::JwtScope { issuer, scope }, Identity::Token(token)) => {
                *issuer == token.issuer && token.scopes.contains(scope)
            }
            (Self::JwtIssuer { issuer }, Identity::Token(token)) => *issuer == token.issuer,
            (Self::JwtSubject { issuer, subject }, Identity::Token(token)) => {
                *issuer == token.issuer && *subject == token.subject
            }
            (Self::JwtClient { issuer, client }, Identity::Token(token)) => {
                *issuer == token.issuer && token.client_id.as_ref() == Some(client)
            }
            (Self::User { name }, Identity::Basic(user)) => *name == user.name,
            _ => false,
        }
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Anyone => f.write_str("anyone"),
            Self::AnyAuthenticatedUser => f.write_str("any authenticated user"),
            Self::Anonymous => f.write_str("anonymous"),
            Self::Vo { vo } => write!(f, "vo {vo}"),
            Self::VoMap { vo } => write!(f, "vo-map {vo}"),
            Self::Fqan { fqan } => write!(f, "fqan {fqan}"),
            Self::JwtGroup { issuer, group } => write!(f, "jwt-group {group} from issuer {issuer}"),
            Self::JwtScope { issuer, scope } => write!(f, "jwt-scope {scope} from issuer {issuer}"),
            Self::JwtIssuer { issuer } => write!(f, "jwt-issuer {issuer}"),
            Self::JwtSubject { issuer, subject } => write!(f, "jwt-subject {subject} from issuer {issuer}"),
            Self::JwtClient { issuer, client } => write!(f, "jwt-client {client} from issuer {issuer}"),
            Self::X509Subject { subject } => write!(f, "x509-subject {subject}"),
            Self::User { name } => write!(f, "user {name}"),
        }
    }
}
