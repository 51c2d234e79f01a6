//! The validity period of a token.

use super::claims::Claims;
use super::error::TokenError;

/// Compares `exp`, `nbf` and `iat` with the clock (RFC 7519 sections 4.1.4 to 4.1.6) and returns the expiry.
/// A token without `exp` is rejected.
///
/// # Errors
/// If the token has expired or is not yet valid, or if `iat` is in the future.
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
