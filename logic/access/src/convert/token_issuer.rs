use super::yaml::{Node, same_key};
use super::{Notes, Place};

/// A trusted issuer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TokenIssuer {
    pub(super) place: Place,
    pub(super) name: String,
    pub(super) issuer: String,
    pub(super) key_set: Option<String>,
    pub(super) audiences: Vec<String>,
}

impl TokenIssuer {
    /// Reads one entry of `oauth.issuers`.
    pub(super) fn read(node: &Node, notes: &mut Notes<'_>) -> Option<Self> {
        let text = |key: &str| node.get(key).and_then(Node::text).map(str::to_owned);
        for (key, value) in node.map() {
            let known = ["name", "issuer", "jwk-uri", "enforce-audience-checks", "audiences"];
            if !known.iter().any(|name| same_key(key, name)) {
                notes.add(value.line, format!("{key} of an issuer is not known here"));
            }
        }
        let Some(issuer) = text("issuer") else {
            notes.add(node.line, "an issuer without its address: left out");
            return None;
        };
        let audiences = node.get("audiences").map(Node::list).unwrap_or_default();
        let audiences: Vec<_> = audiences.iter().filter_map(Node::text).map(str::to_owned).collect();
        let enforced =
            text("enforce-audience-checks").is_some_and(|value| value.eq_ignore_ascii_case("true"));
        if enforced && audiences.is_empty() {
            notes.add(
                node.line,
                "audience checks without audiences: add the audiences, none is checked until then",
            );
        }
        if !enforced && !audiences.is_empty() {
            notes.add(node.line, "audiences without enforceAudienceChecks were not looked at: left out");
        }
        let name = text("name").unwrap_or_else(|| issuer.clone());
        let audiences = if enforced { audiences } else { Vec::new() };
        Some(Self { place: notes.place(node.line), name, issuer, key_set: text("jwk-uri"), audiences })
    }
}
