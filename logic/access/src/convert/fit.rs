//! Makes what was read fit what Weir's configuration can say: names, addresses, issuers that are known.

use std::collections::BTreeSet;

use super::Notes;
use super::application::TokenIssuer;
use super::area::Area;
use crate::rule::{PolicySpec, Principal};

/// Longest name, in bytes.
const NAME_BYTES_MAX: usize = 64;

/// A name of letters, digits and `_-.:` that is like `text`.
pub(super) fn name(text: &str) -> String {
    let sound = |c: char| if c.is_ascii_alphanumeric() || "_-.:".contains(c) { c } else { '-' };
    let name: String = text.chars().map(sound).take(NAME_BYTES_MAX).collect();
    if name.is_empty() { "unnamed".to_owned() } else { name }
}

/// The same with a number at its end.
pub(super) fn numbered(name: &str, number: usize) -> String {
    let end = format!("-{number}");
    let kept = name.len().min(NAME_BYTES_MAX - end.len());
    format!("{}{end}", &name[..kept])
}

/// Leaves out issuers whose keys could not be found, and those that are there twice. `lines`: where each stands.
pub(super) fn issuers(issuers: Vec<(usize, TokenIssuer)>, notes: &mut Notes<'_>) -> Vec<TokenIssuer> {
    let mut seen = BTreeSet::new();
    let mut kept = Vec::new();
    for (line, issuer) in issuers {
        let address = &issuer.issuer;
        let can_be_found = match &issuer.key_set {
            Some(keys) => keys.starts_with("https://") || keys.starts_with('/'),
            None => address.starts_with("https://"),
        };
        if !can_be_found {
            notes.add(line, format!("{address}: its keys are at no https address: left out"));
        } else if !seen.insert(address.clone()) {
            notes.add(line, format!("{address} is there twice: the first counts"));
        } else {
            kept.push(issuer);
        }
    }
    kept
}

/// Leaves out of areas and policies the issuers that nobody knows: their tokens are refused anyway.
pub(super) fn areas(areas: &mut [Area], known: &[TokenIssuer], notes: &mut Notes<'_>) {
    let is_known = |issuer: &str| known.iter().any(|there| there.issuer == issuer);
    for area in areas {
        let name = area.name.clone();
        area.rules.issuers.retain(|issuer| {
            let known = is_known(issuer);
            if !known {
                notes.add(1, format!("area '{name}' lists {issuer}, which oauth.issuers has not: left out"));
            }
            known
        });
        for policy in &mut area.rules.policy {
            let description = policy.description.clone();
            policy.principals.retain(|principal| {
                let known = issuer_of(principal).is_none_or(is_known);
                if !known {
                    let text = format!(
                        "policy '{description}' of '{name}': {principal} is nobody that is known: left out"
                    );
                    notes.add(1, text);
                }
                known
            });
        }
        area.rules.policy.retain(|policy: &PolicySpec| !policy.principals.is_empty());
    }
}

fn issuer_of(principal: &Principal) -> Option<&str> {
    match principal {
        Principal::JwtGroup { issuer, .. }
        | Principal::JwtScope { issuer, .. }
        | Principal::JwtIssuer { issuer }
        | Principal::JwtSubject { issuer, .. }
        | Principal::JwtClient { issuer, .. } => Some(issuer),
        _ => None,
    }
}
