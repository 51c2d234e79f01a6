//! Adjusts the converted values to the limits of Weir's configuration: names, addresses, and known issuers.

use std::collections::BTreeSet;

use super::Notes;
use super::area::Area;
use super::token_issuer::TokenIssuer;
use crate::rule::{PolicySpec, Principal};

/// Maximum length of a name, in bytes.
const NAME_BYTES_MAX: usize = 64;

/// Replaces each character other than letters, digits and `_-.:`, and shortens the name.
pub(super) fn name(text: &str) -> String {
    let sound = |c: char| if c.is_ascii_alphanumeric() || "_-.:".contains(c) { c } else { '-' };
    let name: String = text.chars().map(sound).take(NAME_BYTES_MAX).collect();
    if name.is_empty() { "unnamed".to_owned() } else { name }
}

/// Returns a free name: `name`, or `name` with a number appended.
pub(super) fn free_name(name: &str, taken: &mut BTreeSet<String>) -> String {
    let numbered = (2..).map(|number| numbered(name, number));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    let free = names.find(|name| !taken.contains(name)).unwrap_or_default();
    taken.insert(free.clone());
    free
}

fn numbered(name: &str, number: usize) -> String {
    let end = format!("-{number}");
    let kept = name.len().min(NAME_BYTES_MAX - end.len());
    format!("{}{end}", &name[..kept])
}

/// Removes duplicate issuers and issuers whose keys could not be found.
pub(super) fn issuers(issuers: Vec<TokenIssuer>, notes: &mut Notes<'_>) -> Vec<TokenIssuer> {
    let mut seen = BTreeSet::new();
    let mut kept = Vec::new();
    for issuer in issuers {
        let address = &issuer.issuer;
        let can_be_found = address.starts_with("https://");
        if !can_be_found {
            notes.access_at(
                &issuer.place,
                format!("{address} is no https address, where its keys could be found: left out"),
            );
        } else if !seen.insert(address.clone()) {
            notes.at(&issuer.place, format!("{address} is there twice: the first counts"));
        } else {
            kept.push(issuer);
        }
    }
    kept
}

/// Removes unknown issuers from areas and policies. Their tokens are rejected anyway.
pub(super) fn areas(areas: &mut [Area], known: &[TokenIssuer], notes: &mut Notes<'_>) {
    let is_known = |issuer: &str| known.iter().any(|there| there.issuer == issuer);
    for area in areas {
        let name = area.name.clone();
        area.rules.issuers.retain(|issuer| {
            let known = is_known(issuer);
            if !known {
                let place = &area.issuers_place;
                notes.access_at(
                    place,
                    format!("area '{name}' lists {issuer}, which oauth.issuers has not: left out"),
                );
            }
            known
        });
        for (policy, place) in area.rules.policy.iter_mut().zip(&area.policy_places) {
            let description = policy.description.clone();
            policy.principals.retain(|principal| {
                let known = issuer_of(principal).is_none_or(is_known);
                if !known {
                    let text = format!(
                        "policy '{description}' of '{name}': {principal} is nobody that is known: left out"
                    );
                    notes.access_at(place, text);
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
