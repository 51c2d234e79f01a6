use super::algorithm::Algorithm;
use super::claims::Claims;
use super::error::TokenError;
use super::jws::Jws;
use super::key::VerificationKey;
use super::key_set::KeySet;
use super::kind::{TypeRule, check_kind};
use crate::crypto::Crypto;
use crate::identity::TokenIdentity;
use crate::wlcg::{self, ScopeSet};

/// What is accepted from one issuer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issuer {
    /// `iss`, compared byte by byte.
    pub issuer: String,
    /// What it may sign with. `HS256` never verifies here, listed or not: key sets hold public keys only.
    pub algorithms: Vec<Algorithm>,
    /// Who its tokens must be meant for.
    pub audiences: Audiences,
    /// Which types of its tokens may be presented.
    pub types: TypeRule,
    /// Whether its tokens follow the WLCG profile.
    pub profile: ProfileRule,
    /// How far its clock and ours may differ, in seconds.
    pub leeway_secs: u64,
    /// How far off the end of a token may be, in seconds. A stolen token that never ends is a key.
    pub lifetime_max_secs: u64,
}

/// Who tokens must be meant for (RFC 7519 section 4.1.3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Audiences {
    /// Not looked at.
    NotChecked,
    /// One of these, compared byte by byte; a token of the WLCG profile may also be meant for any service.
    OneOf(Vec<String>),
}

/// Whether tokens follow the WLCG profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ProfileRule {
    /// Those that state a version must follow it.
    #[default]
    WhenStated,
    /// All must state one.
    Required,
}

impl Issuer {
    /// An issuer with defaults: RS256, ES256 and EdDSA, no audience check, a minute of leeway, a week at most.
    pub fn new(issuer: &str) -> Self {
        Self {
            issuer: issuer.to_owned(),
            algorithms: vec![Algorithm::Rs256, Algorithm::Es256, Algorithm::EdDsa],
            audiences: Audiences::NotChecked,
            types: TypeRule::WhenStated,
            profile: ProfileRule::WhenStated,
            leeway_secs: 60,
            lifetime_max_secs: 7 * 24 * 3600,
        }
    }

    /// Whether one of its tokens, verified before, would be accepted still: by rules that may have changed since.
    ///
    /// # Errors
    /// It would not.
    pub fn check_again(&self, token: &TokenIdentity, now_unix_secs: u64) -> Result<(), TokenError> {
        if token.issuer != self.issuer {
            return Err(TokenError::IssuerUnknown);
        }
        if self.profile == ProfileRule::Required && token.profile.is_none() {
            return Err(TokenError::ClaimMissing("wlcg.ver"));
        }
        self.check_end(token.expires_unix_secs, now_unix_secs)?;
        self.check_audience(&token.audience, token.profile)
    }

    fn check_end(&self, expires_unix_secs: u64, now_unix_secs: u64) -> Result<(), TokenError> {
        let end_max = now_unix_secs.saturating_add(self.lifetime_max_secs).saturating_add(self.leeway_secs);
        if expires_unix_secs > end_max { Err(TokenError::LivesTooLong) } else { Ok(()) }
    }

    fn check_audience(
        &self,
        audience: &[String],
        profile: Option<wlcg::ProfileVersion>,
    ) -> Result<(), TokenError> {
        let Audiences::OneOf(ours) = &self.audiences else { return Ok(()) };
        let meant = |aud: &String| ours.contains(aud) || (profile.is_some() && aud == wlcg::AUDIENCE_ANY);
        if audience.iter().any(meant) { Ok(()) } else { Err(TokenError::AudienceWrong) }
    }
}

/// The `iss` of a token, **not verified**: for choosing the issuer whose keys are to verify it.
///
/// # Errors
/// It is no token, or names no issuer.
pub fn issuer_of(token: &str) -> Result<String, TokenError> {
    let jws = Jws::parse(token)?;
    Claims::parse(&jws.payload)?.iss.ok_or(TokenError::ClaimMissing("iss"))
}

/// Verifies a token of `issuer` with its `keys` at the time `now_unix_secs`, and says whose it is.
///
/// # Errors
/// Anything about it is not as it must be. [`TokenError::KeyUnknown`] and [`TokenError::SignatureInvalid`] are reasons to fetch
/// the keys anew, within the bounds of a [`KeyCache`](super::KeyCache).
pub fn verify(
    token: &str,
    issuer: &Issuer,
    keys: &KeySet,
    crypto: &dyn Crypto,
    now_unix_secs: u64,
) -> Result<TokenIdentity, TokenError> {
    let jws = Jws::parse(token)?;
    let claims = Claims::parse(&jws.payload)?;
    if claims.iss.as_deref().ok_or(TokenError::ClaimMissing("iss"))? != issuer.issuer {
        return Err(TokenError::IssuerUnknown);
    }
    if !issuer.algorithms.contains(&jws.algorithm) {
        let issuer = issuer.issuer.clone();
        return Err(TokenError::AlgorithmNotPermitted { issuer, algorithm: jws.algorithm });
    }
    let mut candidates = keys.candidates(jws.key_id.as_deref(), jws.algorithm).peekable();
    if candidates.peek().is_none() {
        return Err(TokenError::KeyUnknown { issuer: issuer.issuer.clone() });
    }
    let by = |key: &VerificationKey| key.verifies(crypto, jws.algorithm, jws.signing_input, &jws.signature);
    if !candidates.any(by) {
        return Err(TokenError::SignatureInvalid);
    }

    let audience_is_checked = issuer.audiences != Audiences::NotChecked;
    check_kind(jws.token_type.as_deref(), &claims, issuer.types, audience_is_checked)?;
    let expires_unix_secs = check_times(&claims, issuer.leeway_secs, now_unix_secs)?;
    issuer.check_end(expires_unix_secs, now_unix_secs)?;
    let profile = wlcg::check_profile(&claims, issuer.profile)?;
    let audience = claims.aud.clone().unwrap_or_default();
    issuer.check_audience(&audience, profile)?;
    let scopes = claims.scopes();
    Ok(TokenIdentity {
        issuer: issuer.issuer.clone(),
        subject: claims.sub.clone().filter(|sub| !sub.is_empty()).ok_or(TokenError::ClaimMissing("sub"))?,
        storage_scopes: ScopeSet::parse(scopes.iter().map(String::as_str)),
        scopes,
        groups: claims.all_groups(),
        audience,
        profile,
        expires_unix_secs,
        token_id: claims.jti,
        client_id: claims.client_id.or(claims.azp),
    })
}

/// `exp`, `nbf` and `iat` against the clock (RFC 7519 section 4.1.4 to 4.1.6); returns the end. A token without an end is
/// not accepted.
///
/// # Errors
/// It is not its time.
pub fn check_times(claims: &Claims, leeway_secs: u64, now_unix_secs: u64) -> Result<u64, TokenError> {
    let end = claims.exp.ok_or(TokenError::ClaimMissing("exp"))?;
    if end.saturating_add(leeway_secs) <= now_unix_secs {
        return Err(TokenError::Expired { ago_secs: now_unix_secs.saturating_sub(end) });
    }
    let latest = now_unix_secs.saturating_add(leeway_secs);
    match (claims.nbf, claims.iat) {
        (Some(nbf), _) if nbf > latest => Err(TokenError::NotYetValid { in_secs: nbf - now_unix_secs }),
        (_, Some(iat)) if iat > latest => Err(TokenError::IssuedInFuture { in_secs: iat - now_unix_secs }),
        _ => Ok(end),
    }
}
