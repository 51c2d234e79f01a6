//! The identity that a verified token yields.

use crate::wlcg::{ProfileVersion, ScopeSet};

/// Claims of a verified token (RFC 7519 section 4.1, WLCG profile).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenIdentity {
    /// Issuer (`iss`), exactly as configured.
    pub issuer: String,
    /// Subject (`sub`).
    pub subject: String,
    /// Client that requested the token (`client_id` or `azp`).
    pub client_id: Option<String>,
    /// Groups from `wlcg.groups`, `groups`, `entitlements` and `eduperson_entitlement`, in this order.
    pub groups: Vec<String>,
    /// Every word of `scope`.
    pub scopes: Vec<String>,
    /// Scopes that permit actions on paths.
    pub storage_scopes: ScopeSet,
    /// Audience (`aud`).
    pub audience: Vec<String>,
    /// Profile version (`wlcg.ver`), if the token follows the profile.
    pub profile: Option<ProfileVersion>,
    /// Expiry (`exp`), in seconds since 1970.
    pub expires_unix_secs: u64,
    /// Token id (`jti`).
    pub token_id: Option<String>,
}
