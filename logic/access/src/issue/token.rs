use std::fmt;

use super::claims::{Binding, Holder, OwnClaims, Presentation};
use super::key::OwnKeys;
use crate::crypto::Crypto;
use crate::identity::{Delegation, Identity};
use crate::jwt::{Claims, Jws, TokenError, check_own_type, check_times};
use crate::wlcg::{Operation, ScopeSet, StorageScope};
use crate::{AccessPath, Action};

/// Makes own tokens and knows them again.
#[derive(Debug)]
pub struct Minting {
    /// `iss`: this service.
    pub issuer: String,
    /// `aud`: who its tokens are meant for; one of them must be among those of a token that is verified.
    pub audiences: Vec<String>,
    /// Longest life, in seconds.
    pub lifetime_max_secs: u64,
    /// With what.
    pub keys: OwnKeys,
}

/// What is asked of [`Minting::issue`].
#[derive(Debug)]
pub struct Grant<'a> {
    /// For whom.
    pub holder: &'a Identity,
    /// What for: paths from the root of the server.
    pub scopes: Vec<StorageScope>,
    /// How long, in seconds; as long as may be if nothing is said.
    pub lifetime_secs: Option<u64>,
    /// For one request only.
    pub binding: Option<Binding>,
    /// What the holder's password is checked with, if it was a password: another one ends the token.
    pub password_hash: Option<&'a str>,
    /// The storage area in which the holder has proved who they are: names of users are no more than its own.
    pub area: String,
    /// The token's id: unique, and not to be guessed. Random bytes are the caller's to draw.
    pub token_id: String,
}

/// A token and what is to be told of it.
#[derive(Clone, PartialEq, Eq)]
pub struct Issued {
    /// The token.
    pub token: String,
    /// Its life in seconds.
    pub expires_in_secs: u64,
    /// Its scopes.
    pub scope: String,
}

/// Why no token is issued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IssueError {
    /// Nobody in particular asks.
    Anonymous,
    /// The bearer of an own token asks: what it was narrowed to must not grow.
    AlreadyDelegated,
    /// Nothing that was asked for may be had.
    NoScope,
    /// What the holder has proved to be ends now.
    Ended,
    /// The holder's groups and scopes do not fit into a token.
    TooLarge,
    /// The crypto library refused to sign.
    Signing,
}

impl Minting {
    /// Issues a token whose life is the least of what is asked, what is permitted and what is left of the holder's own
    /// credential.
    ///
    /// # Errors
    /// There is none for such a holder, or no scope is left.
    pub fn issue(
        &self,
        grant: Grant<'_>,
        crypto: &dyn Crypto,
        now_unix_secs: u64,
    ) -> Result<Issued, IssueError> {
        // A redirect for everybody's file is no more than what everybody may do.
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

    /// Verifies a token of our own. `leeway_secs` is for other nodes' clocks.
    ///
    /// # Errors
    /// It is none, has ended, or is bound to something else.
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

    /// Whether the holder of one of its tokens has the password still with which the token was got: `hash` is what it is checked
    /// with by now.
    pub fn is_proved(&self, delegation: &Delegation, hash: &str, crypto: &dyn Crypto) -> bool {
        delegation.proof.as_deref().is_some_and(|proof| self.keys.proves(proof, hash, crypto))
    }
}

/// Of the scopes asked for, those whose holder may do everything that they mean to whoever verifies the token: at their path
/// and at all that is below it. `may` asks the rules for that. Nothing asked for means everything below `roots`.
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

/// What a scope permits (see the table of `wlcg::permit`), but for looking at single files, which comes with each, and
/// renaming, which is deleting here and creating there.
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

/// Without the token.
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
