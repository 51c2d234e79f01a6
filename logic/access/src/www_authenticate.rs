//! Status and challenge of a refusal: 401 asks for other credentials; 403 says that the presented ones are
//! not sufficient. See RFC 9110 sections 15.5.2 and 15.5.4, RFC 6750 section 3 and RFC 7617.

use std::fmt;

use crate::identity::{CredentialFault, Identity};
use crate::jwt::TokenError;
use crate::wlcg::Operation;
use crate::{AccessPath, Action};

/// Credentials that a listener accepts in headers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schemes {
    /// True if the listener accepts bearer tokens.
    pub bearer: bool,
    /// True if the listener accepts passwords.
    pub basic: bool,
    /// Name of the protected area, as shown to people.
    pub realm: String,
}

/// Reason for a refusal.
#[derive(Debug, Clone, Copy)]
pub enum Refusal<'a> {
    /// A credential is invalid.
    Credential(&'a CredentialFault),
    /// The `Authorization` header cannot be parsed, or the request has tokens in two places.
    MalformedCredential,
    /// The rules deny the action.
    Denied {
        /// Identity of the client.
        identity: &'a Identity,
        /// Action that the rules deny.
        action: &'a Action,
    },
    /// The scopes of one of Weir's own tokens permit the action, but the rules deny it to the token's holder.
    HolderDenied,
}

impl<'a> Refusal<'a> {
    /// Returns the refusal for an action that the rules deny at `path`.
    pub fn denied(identity: &'a Identity, action: &'a Action, path: &AccessPath) -> Self {
        match identity {
            Identity::Delegated(delegation)
                if delegation.holder.is_authenticated()
                    && delegation.scopes.permits(action, path).is_some() =>
            {
                Self::HolderDenied
            }
            _ => Self::Denied { identity, action },
        }
    }
}

/// The status and the `WWW-Authenticate` headers of the response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusalAnswer {
    /// Status: 400, 401, 403 or 503.
    pub status: u16,
    /// Challenges, one per scheme; each is the value of a header line of its own.
    pub challenges: Vec<String>,
    /// Seconds after which the client should try again (`Retry-After`).
    pub retry_after_secs: Option<u64>,
}

/// Returns the response to a refused request.
///
/// | refusal | status | challenge |
/// |---|---|---|
/// | an anonymous client, denied by the rules | 401 | every scheme, without an error |
/// | an anonymous client, and the listener accepts no scheme | 403 | none |
/// | an invalid token | 401 | `Bearer error="invalid_token"` |
/// | a token whose issuer's keys are unavailable | 503 | none |
/// | a wrong password | 401 | every scheme |
/// | a token and a password in one request, or a malformed header | 400 | `Bearer error="invalid_request"` |
/// | a token with insufficient scopes | 403 | `Bearer error="insufficient_scope"`, with the needed scope |
/// | an authenticated client that the rules deny, also behind one of our own tokens | 403 | none |
pub fn answer(refusal: Refusal<'_>, schemes: &Schemes) -> RefusalAnswer {
    let realm = Quoted(&schemes.realm);
    let bearer = |parameters: &str| match schemes.bearer {
        true => vec![format!("Bearer realm={realm}{parameters}")],
        false => Vec::new(),
    };
    let all = || {
        let mut challenges = bearer("");
        if schemes.basic {
            challenges.push(format!("Basic realm={realm}, charset=\"UTF-8\""));
        }
        // RFC 9110 section 15.5.2 requires a challenge with each 401.
        let status = if challenges.is_empty() { 403 } else { 401 };
        refuse(status, challenges)
    };
    match refusal {
        Refusal::MalformedCredential | Refusal::Credential(CredentialFault::TokenAndPassword) => {
            refuse(400, bearer(", error=\"invalid_request\""))
        }
        Refusal::Credential(CredentialFault::Password) => all(),
        // A client discards its token when a response calls it invalid, so this response does not.
        Refusal::Credential(CredentialFault::Token(TokenError::KeysUnavailable {
            retry_after_secs, ..
        })) => RefusalAnswer { retry_after_secs: Some(*retry_after_secs), ..refuse(503, Vec::new()) },
        Refusal::Credential(CredentialFault::Token(error)) => {
            let description = Quoted(&error.to_string()).to_string();
            let challenges = bearer(&format!(", error=\"invalid_token\", error_description={description}"));
            refuse(if challenges.is_empty() { 403 } else { 401 }, challenges)
        }
        Refusal::HolderDenied => refuse(403, Vec::new()),
        Refusal::Denied { identity: Identity::Anonymous, .. } => all(),
        Refusal::Denied { identity, action } => {
            let limited = match identity {
                Identity::Token(token) => !token.storage_scopes.is_absent(),
                Identity::Delegated(_) => true,
                _ => false,
            };
            let needed = operation_for(action).name();
            let insufficient = || bearer(&format!(", error=\"insufficient_scope\", scope=\"{needed}\""));
            refuse(403, if limited { insufficient() } else { Vec::new() })
        }
    }
}

fn refuse(status: u16, challenges: Vec<String>) -> RefusalAnswer {
    RefusalAnswer { status, challenges, retry_after_secs: None }
}

/// Returns the narrowest scope that permits an action, without its path. The path could reveal names to a
/// client that may not see them.
fn operation_for(action: &Action) -> Operation {
    match action {
        Action::Read | Action::Stat | Action::List => Operation::Read,
        Action::Create | Action::MakeDirectory | Action::Rename { .. } => Operation::Create,
        Action::Overwrite | Action::Delete => Operation::Modify,
        Action::Stage => Operation::Stage,
        Action::Poll => Operation::Poll,
    }
}

/// Shows a quoted string (RFC 9110 section 5.6.4) of printable ASCII.
struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write as _;
        f.write_char('"')?;
        for c in self.0.chars() {
            match c {
                '"' | '\\' => write!(f, "\\{c}")?,
                ' '..='~' => f.write_char(c)?,
                _ => f.write_char('?')?,
            }
        }
        f.write_char('"')
    }
}
