use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};

use super::error::TokenError;

/// The claims that are looked at (RFC 7519 section 4.1, RFC 9068, WLCG profile). One that stands twice makes the token
/// malformed.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Claims {
    /// Issuer.
    pub iss: Option<String>,
    /// Subject.
    pub sub: Option<String>,
    /// Audience: one or several.
    #[serde(default, deserialize_with = "one_or_several")]
    pub aud: Option<Vec<String>>,
    /// End, in seconds since 1970.
    #[serde(default, deserialize_with = "date")]
    pub exp: Option<u64>,
    /// Beginning, in seconds since 1970.
    #[serde(default, deserialize_with = "date")]
    pub nbf: Option<u64>,
    /// When it was made, in seconds since 1970.
    #[serde(default, deserialize_with = "date")]
    pub iat: Option<u64>,
    /// Token id.
    pub jti: Option<String>,
    /// Words separated by spaces (RFC 8693 section 4.2); some issuers send an array.
    #[serde(default, deserialize_with = "one_or_several")]
    pub scope: Option<Vec<String>>,
    /// The client that asked for the token.
    pub client_id: Option<String>,
    /// The same in OpenID Connect.
    pub azp: Option<String>,
    /// The scopes of some issuers; looked at as a mark of access tokens only.
    pub scp: Option<IgnoredAny>,
    /// What kind of token it is: Keycloak writes `Bearer`, `ID`, `Refresh`, `Logout`.
    pub typ: Option<String>,
    /// The same of Cognito: `access`, `id`.
    pub token_use: Option<String>,
    /// Of ID tokens (OpenID Connect Core 1.0 section 2).
    pub nonce: Option<IgnoredAny>,
    /// Of ID tokens (OpenID Connect Core 1.0 section 3.1.3.6).
    pub at_hash: Option<IgnoredAny>,
    /// Of ID tokens (OpenID Connect Core 1.0 section 3.3.2.11).
    pub c_hash: Option<IgnoredAny>,
    /// Of logout tokens and other security events (RFC 8417 section 2.2).
    pub events: Option<IgnoredAny>,
    /// Version of the WLCG profile.
    #[serde(rename = "wlcg.ver")]
    pub wlcg_ver: Option<String>,
    /// Groups of the WLCG profile, in order.
    #[serde(default, rename = "wlcg.groups", deserialize_with = "one_or_several")]
    pub wlcg_groups: Option<Vec<String>>,
    /// Groups elsewhere.
    #[serde(default, deserialize_with = "one_or_several")]
    pub groups: Option<Vec<String>>,
    /// Groups of AARC-G002 and G069.
    #[serde(default, deserialize_with = "one_or_several")]
    pub entitlements: Option<Vec<String>>,
    /// The older name of the same.
    #[serde(default, deserialize_with = "one_or_several")]
    pub eduperson_entitlement: Option<Vec<String>>,
}

impl Claims {
    /// Reads the payload of a token.
    ///
    /// # Errors
    /// It is no JSON object, or a claim has not its type.
    pub fn parse(payload: &[u8]) -> Result<Self, TokenError> {
        serde_json::from_slice(payload)
            .map_err(|_| TokenError::Malformed("its claims are no JSON object of their types"))
    }

    /// Every group, without a leading difference between the claims that state them; each once.
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

    /// Every word of `scope`.
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

/// A NumericDate (RFC 7519 section 2): seconds, possibly with a fraction, which is cut off. Nothing before 1970.
fn date<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let Some(number) = Option::<serde_json::Number>::deserialize(deserializer)? else { return Ok(None) };
    if let Some(seconds) = number.as_u64() {
        return Ok(Some(seconds));
    }
    // Up to 2^53 a float holds whole seconds exactly; no date of ours lies beyond.
    match number.as_f64() {
        Some(seconds) if (0.0..9_007_199_254_740_992.0).contains(&seconds) => Ok(Some(seconds as u64)),
        _ => Err(serde::de::Error::custom("no date")),
    }
}
