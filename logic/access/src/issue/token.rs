//! Issuing and verification of Weir's own tokens.

use std::fmt;

use super::claims::{Binding, Holder, OwnClaims, Presentation};
use super::key::OwnKeys;
use crate::crypto::Crypto;
use crate::identity::{Delegation, Identity};
use crate::jwt::{Claims, Jws, TokenError, check_own_type, check_times};
use crate::wlcg::{Operation, ScopeSet, StorageScope};
use crate::{AccessPath, Action};

/// Issues and verifies Weir's own tokens.
#[derive(Debug)]
pub struct Minting {
    /// Issuer (`iss`): this service.
    pub issuer: String,
    /// Audiences (`aud`) of the tokens. A verified token must name at least one of them.
    pub audiences: Vec<String>,
    /// Maximum lifetime, in seconds.
    pub lifetime_max_secs: u64,
    /// Keys that sign and verify the tokens.
    pub keys: OwnKeys,
}

/// The parameters of [`Minting::issue`].
#[derive(Debug)]
pub struct Grant<'a> {
    /// Identity that gets the token.
    pub holder: &'a Identity,
    /// Scopes of the token; their paths start at the root of the server.
    pub scopes: Vec<StorageScope>,
    /// Requested lifetime, in seconds; `None` = the maximum.
    pub lifetime_secs: Option<u64>,
    /// Binding of the token to one request.
    pub binding: Option<Binding>,
    /// Hash that the holder's password is checked against, if the holder used a password. A new password ends
    /// the token.
    pub password_hash: Option<&'a str>,
    /// Storage area in which the holder authenticated. Names of users are valid only there.
    pub area: String,
    /// Unique, unpredictable token id. The caller generates it from random bytes.
    pub token_id: String,
}

/// A token and its parameters for the response.
#[derive(Clone, PartialEq, Eq)]
pub struct Issued {
    /// Text of the token.
    pub token: String,
    /// Lifetime, in seconds.
    pub expires_in_secs: u64,
    /// Scopes, separated by spaces.
    pub scope: String,
}

/// Reason why no token is issued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IssueError {
    /// The client is anonymous.
    Anonymous,
    /// The client presented one of Weir's own tokens, whose restrictions a new token could lose.
    AlreadyDelegated,
    /// No requested scope may be granted.
    NoScope,
    /// The holder's credential expires now.
    Ended,
    /// The holder's groups and scopes do not fit into a token.
    TooLarge,
    /// The crypto library failed to sign.
    Signing,
}

impl Minting {
    /// Issues a token. Its lifetime is the minimum of the requested one, the permitted one, and the rest of
    /// the holder's own credential.
    ///
    /// # Errors
    /// If this holder may not get a token, no scope is left, the token is too large, or signing fails.
    pub fn issue(
        &self,
        grant: Grant<'_>,
        crypto: &dyn Crypto,
        now_unix_secs: u64,
    ) -> Result<Issued, IssueError> {
        // A token that is bound to one request grants an anonymous client no more than it has anyway.
        if !grant.holder.is_authenticated() && grant.binding.is_none() {
            return Err(IssueError::Anonymous);
        }
        let holder = Holder::of(grant.holder).ok_or(IssueError::AlreadyDelegated)?;
        if grant.scopes.is_empty() {
            return Err(IssueError::NoScope);
        }
        let left = grant.holder.expires_unix_secs().map(|end| end.saturating_sub(now_unix_secs));
        let bounds = [Some(self.lifetime_max_secs), grant.lifetime_secs, left];
        let expires_in_secs = bounds.into_iter().flatten().min().unwrap_or(0);
        if expires_in_secs == 0 {
            return Err(IssueError::Ended);
        }
        let scope = grant.scopes.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        let claims = OwnClaims {
            iss: self.issuer.clone(),
            aud: self.audiences.clone(),
            sub: holder.subject(&grant.area),
            iat: now_unix_secs,
            nbf: now_unix_secs,
            exp: now_unix_secs.saturating_add(expires_in_secs),
            jti: grant.token_id,
            scope: scope.clone(),
            profile: "1.0".to_owned(),
            area: grant.area,
            holder,
            proof: grant.password_hash.map(|hash| self.keys.proof(hash, crypto)),
            binding: grant.binding,
        };
        let claims = serde_json::to_vec(&claims).map_err(|_| IssueError::TooLarge)?;
        let token = self.keys.current.sign(&claims, crypto).ok_or(IssueError::Signing)?;
        if token.len() > Jws::BYTES_MAX {
            return Err(IssueError::TooLarge);
        }
        Ok(Issued { token, expires_in_secs, scope })
    }

    /// Verifies one of Weir's own tokens. `leeway_secs` allows for the clocks of other nodes.
    ///
    /// # Errors
    /// If the token is not a valid own token, has expired, or is bound to another request.
    pub fn verify(
        &self,
        token: &str,
        presentation: &Presentation<'_>,
        crypto: &dyn Crypto,
        leeway_secs: u64,
        now_unix_secs: u64,
    ) -> Result<Identity, TokenError> {
        let jws = Jws::parse(token)?;
        self.keys.verify(&jws, crypto)?;
        check_own_type(jws.token_type.as_deref())?;
        let claims: OwnClaims = serde_json::from_slice(&jws.payload)
            .map_err(|_| TokenError::Malformed("its claims are not those of an own token"))?;
        if claims.iss != self.issuer {
            return Err(TokenError::IssuerUnknown);
        }
        if !claims.aud.iter().any(|aud| self.audiences.contains(aud)) {
            return Err(TokenError::AudienceWrong);
        }
        let times = Claims {
            exp: Some(claims.exp),
            nbf: Some(claims.nbf),
            iat: Some(claims.iat),
            ..Claims::default()
        };
        check_times(&times, leeway_secs, now_unix_secs)?;
        if let Some(binding) = &claims.binding {
            binding.check(presentation)?;
        }
        Ok(Identity::Delegated(Box::new(Delegation {
            scopes: ScopeSet::parse(claims.scope.split(' ').filter(|word| !word.is_empty())),
            holder: claims.holder.into_identity(),
            area: claims.area,
            proof: claims.proof,
            expires_unix_secs: claims.exp,
            token_id: claims.jti,
        })))
    }

    /// Returns true if the holder's password is still the one that the token was issued for. `hash` is the
    /// hash that the password is checked against now.
    pub fn is_proved(&self, delegation: &Delegation, hash: &str, crypto: &dyn Crypto) -> bool {
        delegation.proof.as_deref().is_some_and(|proof| self.keys.proves(proof, hash, crypto))
    }
}

/// Selects those requested scopes whose actions the holder may all perform, at the scope's path and
/// everywhere below it. Other services that verify the token rely on that. `may` queries the rules. An empty
/// request means all scopes below `roots`.
pub fn narrow(
    requested: &ScopeSet,
    roots: &[AccessPath],
    may: impl Fn(&Action, &AccessPath) -> bool,
) -> Vec<StorageScope> {
    let everything = |path: &AccessPath| {
        let path = path.clone();
        Operation::ALL.map(|operation| StorageScope { operation, path: path.clone() })
    };
    let everywhere = ScopeSet::of(roots.iter().flat_map(everything));
    let requested = if requested.is_absent() { &everywhere } else { requested };
    let possible =
        |scope: &&StorageScope| meant_by(scope.operation).iter().all(|action| may(action, &scope.path));
    requested.scopes().iter().filter(possible).cloned().collect()
}

/// Returns the actions that a scope permits (see the table of `wlcg::permit`). It omits reading the metadata
/// of single files, which every scope includes. It omits renaming, which consists of deleting and creating.
fn meant_by(operation: Operation) -> &'static [Action] {
    match operation {
        Operation::Read => &[Action::Read, Action::List],
        Operation::Create => &[Action::Create, Action::MakeDirectory],
        Operation::Modify => {
            &[Action::List, Action::Create, Action::MakeDirectory, Action::Overwrite, Action::Delete]
        }
        Operation::Stage => &[Action::Stage, Action::Poll],
        Operation::Poll => &[Action::Poll],
    }
}

/// Shows the parameters without the token.
impl fmt::Debug for Issued {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Issued({} s, {})", self.expires_in_secs, self.scope)
    }
}

impl fmt::Debug for OwnKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "OwnKeys({:?} and {} before it)", self.current, self.previous.len())
    }
}

impl fmt::Display for IssueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Anonymous => "a token is for somebody in particular",
            Self::AlreadyDelegated => "the bearer of one of our tokens gets no further one",
            Self::NoScope => "none of the scopes asked for may be had",
            Self::Ended => "the credential that it would rest on has ended",
            Self::TooLarge => "groups and scopes do not fit into a token",
            Self::Signing => "it could not be signed",
        })
    }
}

impl std::error::Error for IssueError {}
