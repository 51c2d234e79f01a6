use crate::wlcg::{ProfileVersion, ScopeSet};

/// What a verified token says of its bearer (RFC 7519 section 4.1, WLCG profile).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenIdentity {
    /// `iss`: exactly as the issuer is configured.
    pub issuer: String,
    /// `sub`.
    pub subject: String,
    /// `client_id` or `azp`.
    pub client_id: Option<String>,
    /// From `wlcg.groups`, `groups`, `entitlements`, `eduperson_entitlement`, in their order.
    pub groups: Vec<String>,
    /// Every word of `scope`.
    pub scopes: Vec<String>,
    /// Those scopes that permit something on paths.
    pub storage_scopes: ScopeSet,
    /// `aud`.
    pub audience: Vec<String>,
    /// `wlcg.ver`, if it follows the profile.
    pub profile: Option<ProfileVersion>,
    /// `exp`, in seconds since 1970.
    pub expires_unix_secs: u64,
    /// `jti`.
    pub token_id: Option<String>,
}
