//! Conversion of the trusted token issuers.

use super::yaml::{Node, same_key};
use super::{Notes, Place};

/// A trusted token issuer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TokenIssuer {
    pub(super) place: Place,
    pub(super) name: String,
    pub(super) issuer: String,
    pub(super) audiences: Vec<String>,
}

impl TokenIssuer {
    /// Reads one entry of `oauth.issuers`. Returns `None` if StoRM accepts none of its tokens, or if the
    /// entry has no address.
    pub(super) fn read(node: &Node, notes: &mut Notes<'_>) -> Option<Self> {
        let text = |key: &str| node.get(key).and_then(Node::text).map(str::to_owned);
        for (key, value) in node.map() {
            if same_key(key, "jwk-uri") {
                notes.access(
                    value.line,
                    format!("{key} has no effect in StoRM: keys come from where the issuer's metadata says, as before"),
                );
            } else if !["name", "issuer", "enforce-audience-checks", "audiences"]
                .iter()
                .any(|name| same_key(key, name))
            {
                notes.add(value.line, format!("{key} of an issuer is not known here"));
            }
        }
        let Some(issuer) = text("issuer") else {
            notes.access(node.line, "an issuer without its address: left out");
            return None;
        };
        let audiences = Self::audiences(node, &issuer, notes)?;
        let name = text("name").unwrap_or_else(|| issuer.clone());
        Some(Self { place: notes.place(node.line), name, issuer, audiences })
    }

    /// Returns the audiences to check: none unless `enforceAudienceChecks` is on. Returns `None` if it may be
    /// on and no audience is listed, because StoRM then accepts no token of this issuer
    /// (`AudienceValidator`).
    fn audiences(node: &Node, issuer: &str, notes: &mut Notes<'_>) -> Option<Vec<String>> {
        let listed = node.get("audiences").map(Node::list).unwrap_or_default();
        let listed: Vec<_> = listed.iter().filter_map(Node::text).map(str::to_owned).collect();
        let switch = node.get("enforce-audience-checks");
        // A value that is neither true nor false, such as a placeholder, may be true.
        let enforced = switch.is_some_and(|switch| switch.flag() != Some(false) && switch.text().is_some());
        if !enforced {
            notes.access(
                node.line,
                format!(
                    "{issuer}: enforceAudienceChecks is not on, so tokens that are meant for other services are accepted, as \
                     before; say with audiences who they must be meant for"
                ),
            );
            return Some(Vec::new());
        }
        if listed.is_empty() {
            notes.access(
                node.line,
                format!("{issuer}: with enforceAudienceChecks and no audiences StoRM accepts none of its tokens: left out"),
            );
            return None;
        }
        notes.access(
            node.line,
            format!(
                "{issuer}: tokens without aud are refused; StoRM accepts them in spite of enforceAudienceChecks. Tokens of the WLCG profile \
                 for any service (https://wlcg.cern.ch/jwt/v1/any) are accepted; StoRM accepts them only if audiences has that"
            ),
        );
        if listed.iter().any(|audience| audience.contains("${")) {
            notes.access(
                node.line,
                format!(
                    "{issuer}: an audience is a placeholder: write its value, no token fits it until then"
                ),
            );
        }
        Some(listed)
    }
}
