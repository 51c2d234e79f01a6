//! A refusal's status and challenge: 401 asks for (better) credentials, 403 says that none of these will do (RFC 9110 sections
//! 15.5.2 and 15.5.4, RFC 6750 section 3, RFC 7617).

use std::fmt;

use crate::identity::{CredentialFault, Identity};
use crate::jwt::TokenError;
use crate::wlcg::Operation;
use crate::{AccessPath, Action};

/// Which credentials a listener takes in headers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schemes {
    /// Bearer tokens.
    pub bearer: bool,
    /// Passwords.
    pub basic: bool,
    /// What the credentials are for, as people see it.
    pub realm: String,
}

/// Why a request was refused.
#[derive(Debug, Clone, Copy)]
pub enum Refusal<'a> {
    /// A credential does not hold.
    Credential(&'a CredentialFault),
    /// An `Authorization` header, or two places for a token, that cannot be read.
    MalformedCredential,
    /// The rules deny it.
    Denied {
        /// To whom.
        identity: &'a Identity,
        /// What.
        action: &'a Action,
    },
    /// The holder of one of Weir's own tokens may not; the token's scopes are wide enough.
    HolderDenied,
}

impl<'a> Refusal<'a> {
    /// Of what the rules deny at a path.
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

/// The status and the `WWW-Authenticate` lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusalAnswer {
    /// 400, 401, 403 or 503.
    pub status: u16,
    /// One value per scheme, each for a line of its own.
    pub challenges: Vec<String>,
    /// When it is worth to ask again, in seconds (`Retry-After`).
    pub retry_after_secs: Option<u64>,
}

/// What a refused request is answered.
///
/// | refusal | status | challenge |
/// |---|---|---|
/// | nobody in particular, and the rules deny it | 401 | every scheme, without an error: nothing was wrong |
/// | the same where no header would help | 403 | none |
/// | a token that does not hold | 401 | `Bearer error="invalid_token"` |
/// | a token that cannot be verified, as the keys of its issuer cannot be had | 503 | none |
/// | a wrong password | 401 | every scheme |
/// | a token and a password at once, or a header that cannot be read | 400 | `Bearer error="invalid_request"` |
/// | a token whose scopes do not permit it | 403 | `Bearer error="insufficient_scope"`, with the scope's name that would |
/// | somebody who may not, also through one of our own tokens | 403 | none |
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
        // RFC 9110 asks for a challenge with each 401.
        let status = if challenges.is_empty() { 403 } else { 401 };
        refuse(status, challenges)
    };
    match refusal {
        Refusal::MalformedCredential | Refusal::Credential(CredentialFault::TokenAndPassword) => {
            refuse(400, bearer(", error=\"invalid_request\""))
        }
        Refusal::Credential(CredentialFault::Password) => all(),
        // A client that is told that its token is invalid throws it away.
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

/// The least scope that permits an action. Its path is left out: what is where is nobody's business who may not see it.
fn operation_for(action: &Action) -> Operation {
    match action {
        Action::Read | Action::Stat | Action::List => Operation::Read,
        Action::Create | Action::MakeDirectory | Action::Rename { .. } => Operation::Create,
        Action::Overwrite | Action::Delete => Operation::Modify,
        Action::Stage => Operation::Stage,
        Action::Poll => Operation::Poll,
    }
}

/// A quoted string (RFC 9110 section 5.6.4) of printable ASCII.
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
