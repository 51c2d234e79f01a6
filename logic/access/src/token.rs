//! Verification of a token against the rules for its issuer.

use crate::crypto::Crypto;
use crate::identity::TokenIdentity;
use crate::jwt::{
    Algorithm, Claims, Jws, KeySet, TokenError, TypeRule, VerificationKey, check_kind, check_times,
};
use crate::wlcg::{self, ProfileRule, ScopeSet};

/// Rules for the tokens of one issuer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issuer {
    /// Name of the issuer (`iss`), compared byte by byte.
    pub issuer: String,
    /// Algorithms that the issuer may sign with. `HS256` never verifies here, even if listed, because key
    /// sets hold only public keys.
    pub algorithms: Vec<Algorithm>,
    /// Audiences that its tokens must name.
    pub audiences: Audiences,
    /// Kinds of its tokens that clients may present.
    pub types: TypeRule,
    /// Rule for following the WLCG profile.
    pub profile: ProfileRule,
    /// Maximum difference between the issuer's clock and ours, in seconds.
    pub leeway_secs: u64,
    /// Maximum time until the expiry of a token, in seconds. It limits the use of a stolen token.
    pub lifetime_max_secs: u64,
}

/// Audiences that tokens must name (RFC 7519 section 4.1.3).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Audiences {
    /// The audience is not checked.
    NotChecked,
    /// The token must name one of these, compared byte by byte. A token of the WLCG profile may also name the
    /// audience for any service.
    OneOf(Vec<String>),
}

impl Issuer {
    /// Creates an issuer with defaults: RS256, ES256 and EdDSA, no audience check, one minute of leeway, and
    /// a lifetime of at most one week.
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

    /// Checks a token that was verified before against the current rules, which may have changed since.
    ///
    /// # Errors
    /// If the token would now be rejected.
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

/// Returns the `iss` of a token, **not verified**. It serves only to choose the issuer whose keys verify the
/// token.
///
/// # Errors
/// If the text is not a token, or names no issuer.
pub fn issuer_of(token: &str) -> Result<String, TokenError> {
    let jws = Jws::parse(token)?;
    Claims::parse(&jws.payload)?.iss.ok_or(TokenError::ClaimMissing("iss"))
}

/// Verifies a token of `issuer` with its `keys` at the time `now_unix_secs`, and returns the identity of its
/// bearer.
///
/// # Errors
/// If the token is invalid for any reason. After [`TokenError::KeyUnknown`] and
/// [`TokenError::SignatureInvalid`], the caller should fetch the keys again, within the limits of a
/// [`KeyCache`](crate::jwt::KeyCache).
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
