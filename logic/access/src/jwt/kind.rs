//! Distinguishes access tokens from the other JWTs of an issuer (RFC 8725 sections 3.11 and 3.12).
//!
//! An ID token or a logout token has the same issuer, subject and signature as an access token. Its holder
//! may be a web application that must not act on storage.

use super::claims::Claims;
use super::error::TokenError;

/// Kinds of tokens that clients of an issuer may present.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TypeRule {
    /// Accepts tokens whose header says `at+jwt`. Also accepts tokens with no `typ`, or with `JWT`, unless
    /// their claims show another kind.
    #[default]
    WhenStated,
    /// Accepts only tokens whose header says `at+jwt` (RFC 9068 section 4).
    Required,
}

/// Kind of token that `typ` in the header states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stated {
    AccessToken,
    /// No `typ`, or the value `JWT`.
    Jwt,
    Other,
}

const OTHER_TYPE: &str = "its type (typ) is that of another kind of token";

/// Reason for tokens with claims that access tokens do not have (OpenID Connect Core 1.0 sections 2 and
/// 3.3.2.11, RFC 8417 section 2.2).
const OTHER_KINDS: &str = "it is an ID token, a logout token or the like, not an access token";

/// Checks that a token is an access token. If `audience_is_checked`, the caller rejects tokens whose `aud`
/// does not name this service, which excludes ID tokens. Otherwise, the token must have a mark that only
/// access tokens have.
///
/// # Errors
/// If the token is of another kind, or if nothing shows its kind.
pub(crate) fn check_kind(
    header_type: Option<&str>,
    claims: &Claims,
    rule: TypeRule,
    audience_is_checked: bool,
) -> Result<(), TokenError> {
    let stated = Stated::by(header_type);
    match (stated, rule) {
        (Stated::Other, _) => {
            return Err(TokenError::NotAccessToken(OTHER_TYPE));
        }
        (Stated::Jwt, TypeRule::Required) => {
            return Err(TokenError::NotAccessToken("its type (typ) is not at+jwt"));
        }
        (Stated::Jwt, TypeRule::WhenStated) | (Stated::AccessToken, _) => {}
    }
    let is_bearer = claims.typ.as_deref().map(|kind| kind.eq_ignore_ascii_case("bearer"));
    let is_access = claims.token_use.as_deref().map(|kind| kind.eq_ignore_ascii_case("access"));
    if is_bearer == Some(false) || is_access == Some(false) {
        return Err(TokenError::NotAccessToken(OTHER_KINDS));
    }
    if claims.at_hash.is_some() || claims.c_hash.is_some() || claims.events.is_some() {
        return Err(TokenError::NotAccessToken(OTHER_KINDS));
    }
    let is_marked = stated == Stated::AccessToken || is_bearer.is_some() || is_access.is_some();
    // Keycloak before release 24 writes the nonce into access tokens too, but it also marks them as access
    // tokens.
    if claims.nonce.is_some() && !is_marked {
        return Err(TokenError::NotAccessToken(OTHER_KINDS));
    }
    // `wlcg.ver` is not such a mark: the WLCG profile requires it in ID tokens too (section 2.1.1).
    let has_claim = claims.scope.is_some() || claims.scp.is_some() || claims.client_id.is_some();
    if is_marked || has_claim || audience_is_checked {
        return Ok(());
    }
    Err(TokenError::NotAccessToken("nothing in it says that it is an access token"))
}

/// Checks the type of one of Weir's own tokens. No other kind of token has their claims.
///
/// # Errors
/// If the header states another kind.
pub(crate) fn check_own_type(header_type: Option<&str>) -> Result<(), TokenError> {
    match Stated::by(header_type) {
        Stated::Other => Err(TokenError::NotAccessToken(OTHER_TYPE)),
        Stated::AccessToken | Stated::Jwt => Ok(()),
    }
}

impl Stated {
    /// Reads the value of `typ`. A type without a slash is short for `application/` plus the type (RFC 7515
    /// section 4.1.9). Media types are case-insensitive.
    fn by(header_type: Option<&str>) -> Self {
        let Some(text) = header_type else { return Self::Jwt };
        let text = text.to_ascii_lowercase();
        match text.strip_prefix("application/").unwrap_or(&text) {
            "at+jwt" => Self::AccessToken,
            "jwt" => Self::Jwt,
            _ => Self::Other,
        }
    }
}
