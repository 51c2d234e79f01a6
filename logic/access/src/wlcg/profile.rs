//! The version of the WLCG profile and the claims that the profile requires.

use std::fmt;

use crate::jwt::{Claims, TokenError};

/// The audience that stands for every service (WLCG profile, "aud").
pub const AUDIENCE_ANY: &str = "https://wlcg.cern.ch/jwt/v1/any";

/// The profile version in the claim `wlcg.ver`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProfileVersion {
    /// Number before the point.
    pub major: u32,
    /// Number after the point.
    pub minor: u32,
}

impl ProfileVersion {
    /// Parses digits, a point, and digits; each number has at most nine digits.
    pub fn parse(text: &str) -> Option<Self> {
        let (major, minor) = text.split_once('.')?;
        let number = |digits: &str| {
            let sound = (1..=9).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
            if sound { digits.parse().ok() } else { None }
        };
        Some(Self { major: number(major)?, minor: number(minor)? })
    }
}

/// Rule for following the WLCG profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ProfileRule {
    /// A token that states a profile version must follow the profile.
    #[default]
    WhenStated,
    /// Every token must state a profile version.
    Required,
}

/// Checks the requirements of the profile beyond RFC 7519: a version 1.x, and the claims `sub`, `exp`, `aud`,
/// `iat` and `jti`. `nbf` may be missing. Returns `None` if the token does not claim to follow the profile
/// and `rule` does not require it.
///
/// # Errors
/// If the token claims to follow the profile and does not, or if it must and does not claim it.
pub fn check_profile(claims: &Claims, rule: ProfileRule) -> Result<Option<ProfileVersion>, TokenError> {
    let Some(text) = &claims.wlcg_ver else {
        return match rule {
            ProfileRule::WhenStated => Ok(None),
            ProfileRule::Required => Err(TokenError::ClaimMissing("wlcg.ver")),
        };
    };
    let version = ProfileVersion::parse(text).filter(|version| version.major == 1);
    let version = version.ok_or(TokenError::ClaimInvalid("wlcg.ver"))?;
    let required = [
        ("sub", claims.sub.is_some()),
        ("exp", claims.exp.is_some()),
        ("aud", claims.aud.as_ref().is_some_and(|aud| !aud.is_empty())),
        ("iat", claims.iat.is_some()),
        ("jti", claims.jti.is_some()),
    ];
    match required.into_iter().find(|(_, there)| !there) {
        Some((claim, _)) => Err(TokenError::ClaimMissing(claim)),
        None => Ok(Some(version)),
    }
}

impl fmt::Display for ProfileVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}
