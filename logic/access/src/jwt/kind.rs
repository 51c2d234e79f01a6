//! Access tokens, told from the other JWTs of an issuer (RFC 8725 sections 3.11 and 3.12).
//!
//! An ID token or a logout token has the issuer, the subject and the signature of an access token. Its holder may be a web
//! application that was never meant to act on storage.

use super::claims::Claims;
use super::error::TokenError;

/// Which types of tokens an issuer's clients may present.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TypeRule {
    /// Access tokens that say so in their header, and tokens without a type or of the type `JWT` that are not visibly something else.
    #[default]
    WhenStated,
    /// Tokens whose header says `at+jwt` (RFC 9068 section 4).
    Required,
}

/// What the `typ` of a header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stated {
    AccessToken,
    /// Nothing, or that it is a JWT.
    Jwt,
    Other,
}

const OTHER_TYPE: &str = "its type (typ) is that of another kind of token";

/// Claims that access tokens do not have: OpenID Connect Core 1.0 section 2 and 3.3.2.11, RFC 8417 section 2.2.
const OTHER_KINDS: &str = "it is an ID token, a logout token or the like, not an access token";

/// Checks that a token is an access token. `audience_is_checked`: its `aud` must name this service, which that of an ID token
/// does not; else the token must have a mark that only access tokens have.
///
/// # Errors
/// It is another kind of token, or nobody can tell.
pub(super) fn check_kind(
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
    // Keycloak before release 24 writes the nonce into access tokens, too, which say that they are.
    if claims.nonce.is_some() && !is_marked {
        return Err(TokenError::NotAccessToken(OTHER_KINDS));
    }
    // Not wlcg.ver: the WLCG profile requires it of ID tokens, too (section 2.1.1).
    let has_claim = claims.scope.is_some() || claims.scp.is_some() || claims.client_id.is_some();
    if is_marked || has_claim || audience_is_checked {
        return Ok(());
    }
    Err(TokenError::NotAccessToken("nothing in it says that it is an access token"))
}

/// Checks the type of one of Weir's own tokens, whose claims no other kind of token has.
///
/// # Errors
/// Its header says that it is something else.
pub(crate) fn check_own_type(header_type: Option<&str>) -> Result<(), TokenError> {
    match Stated::by(header_type) {
        Stated::Other => Err(TokenError::NotAccessToken(OTHER_TYPE)),
        Stated::AccessToken | Stated::Jwt => Ok(()),
    }
}

impl Stated {
    /// A type without a slash stands for `application/` and that (RFC 7515 section 4.1.9); media types have no case.
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
