//! The claims of a JSON Web Token.

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};

use super::error::TokenError;

/// Claims that Weir reads (RFC 7519 section 4.1, RFC 9068, WLCG profile). A token with a duplicate claim is
/// malformed.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Claims {
    /// Issuer.
    pub iss: Option<String>,
    /// Subject.
    pub sub: Option<String>,
    /// Audience; one value or several.
    #[serde(default, deserialize_with = "one_or_several")]
    pub aud: Option<Vec<String>>,
    /// Expiry, in seconds since 1970.
    #[serde(default, deserialize_with = "date")]
    pub exp: Option<u64>,
    /// Start of validity, in seconds since 1970.
    #[serde(default, deserialize_with = "date")]
    pub nbf: Option<u64>,
    /// Time of issue, in seconds since 1970.
    #[serde(default, deserialize_with = "date")]
    pub iat: Option<u64>,
    /// Token id.
    pub jti: Option<String>,
    /// Scopes, separated by spaces (RFC 8693 section 4.2); some issuers send an array.
    #[serde(default, deserialize_with = "one_or_several")]
    pub scope: Option<Vec<String>>,
    /// Client that requested the token.
    pub client_id: Option<String>,
    /// The same client, in the claim of OpenID Connect.
    pub azp: Option<String>,
    /// Scopes in the claim of some issuers; used only as a sign of an access token.
    pub scp: Option<IgnoredAny>,
    /// Kind of token, as Keycloak writes it: `Bearer`, `ID`, `Refresh`, `Logout`.
    pub typ: Option<String>,
    /// Kind of token, as Cognito writes it: `access`, `id`.
    pub token_use: Option<String>,
    /// Claim of ID tokens (OpenID Connect Core 1.0 section 2).
    pub nonce: Option<IgnoredAny>,
    /// Claim of ID tokens (OpenID Connect Core 1.0 section 3.1.3.6).
    pub at_hash: Option<IgnoredAny>,
    /// Claim of ID tokens (OpenID Connect Core 1.0 section 3.3.2.11).
    pub c_hash: Option<IgnoredAny>,
    /// Claim of logout tokens and other security events (RFC 8417 section 2.2).
    pub events: Option<IgnoredAny>,
    /// Version of the WLCG profile.
    #[serde(rename = "wlcg.ver")]
    pub wlcg_ver: Option<String>,
    /// Groups of the WLCG profile, in order.
    #[serde(default, rename = "wlcg.groups", deserialize_with = "one_or_several")]
    pub wlcg_groups: Option<Vec<String>>,
    /// Groups in the claim of other issuers.
    #[serde(default, deserialize_with = "one_or_several")]
    pub groups: Option<Vec<String>>,
    /// Groups as AARC-G002 and AARC-G069 define them.
    #[serde(default, deserialize_with = "one_or_several")]
    pub entitlements: Option<Vec<String>>,
    /// Groups in the older claim for the same.
    #[serde(default, deserialize_with = "one_or_several")]
    pub eduperson_entitlement: Option<Vec<String>>,
}

impl Claims {
    /// Parses the payload of a token.
    ///
    /// # Errors
    /// If the payload is not a JSON object, or if a claim has the wrong type or occurs twice.
    pub fn parse(payload: &[u8]) -> Result<Self, TokenError> {
        serde_json::from_slice(payload)
            .map_err(|_| TokenError::Malformed("its claims are no JSON object of their types"))
    }

    /// Returns the groups of all group claims, each group once.
    pub fn all_groups(&self) -> Vec<String> {
        let sources = [&self.wlcg_groups, &self.groups, &self.entitlements, &self.eduperson_entitlement];
        let mut groups: Vec<String> = Vec::new();
        let mut seen = std::collections::BTreeSet::new();
        for group in sources.into_iter().flatten().flatten() {
            if seen.insert(group.as_str()) {
                groups.push(group.clone());
            }
        }
        groups
    }

    /// Returns every word of `scope`.
    pub fn scopes(&self) -> Vec<String> {
        let texts = self.scope.iter().flatten();
        texts.flat_map(|text| text.split(' ')).filter(|word| !word.is_empty()).map(str::to_owned).collect()
    }
}

fn one_or_several<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<String>>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum OneOrSeveral {
        One(String),
        Several(Vec<String>),
    }
    Ok(Option::<OneOrSeveral>::deserialize(deserializer)?.map(|value| match value {
        OneOrSeveral::One(text) => vec![text],
        OneOrSeveral::Several(texts) => texts,
    }))
}

/// Parses a NumericDate (RFC 7519 section 2): seconds since 1970, truncated to whole seconds. Rejects dates
/// before 1970.
fn date<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let Some(number) = Option::<serde_json::Number>::deserialize(deserializer)? else { return Ok(None) };
    if let Some(seconds) = number.as_u64() {
        return Ok(Some(seconds));
    }
    // A float holds whole seconds exactly up to 2^53; no real date lies beyond.
    match number.as_f64() {
        Some(seconds) if (0.0..9_007_199_254_740_992.0).contains(&seconds) => Ok(Some(seconds as u64)),
        _ => Err(serde::de::Error::custom("no date")),
    }
}
