//! Areas and issuers as TOML, in the order in which a person would write them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use toml::Value;

use super::application::TokenIssuer;
use super::area::Area;
use crate::rule::{Effect, PolicySpec, Principal};

pub(super) fn toml(areas: &[Area], issuers: &[TokenIssuer]) -> String {
    let mut text = String::new();
    let mut names: BTreeMap<&str, usize> = BTreeMap::new();
    for issuer in issuers {
        // Two issuers of one name would be one table twice.
        let count = names.entry(&issuer.name).or_default();
        *count += 1;
        let name = if *count == 1 { issuer.name.clone() } else { format!("{}-{count}", issuer.name) };
        heading(&mut text, &format!("[token-issuer.{}]", key(&name)));
        line(&mut text, "issuer", string(&issuer.issuer));
        if let Some(key_set) = &issuer.key_set {
            line(&mut text, "key-set", string(key_set));
        }
        if !issuer.audiences.is_empty() {
            line(&mut text, "audiences", strings(&issuer.audiences));
        }
    }
    for area in areas {
        write_area(&mut text, area);
    }
    text
}

fn write_area(text: &mut String, area: &Area) {
    let name = key(&area.name);
    heading(text, &format!("[storage-area.{name}]"));
    line(text, "root", string(&area.root));
    line(text, "access-points", strings(&area.access_points));
    if area.tape {
        line(text, "tape", "true");
    }
    let rules = &area.rules;
    heading(text, &format!("[storage-area.{name}.access]"));
    line(text, "anonymous-read", rules.anonymous_read);
    line(text, "authenticated-read", rules.authenticated_read);
    line(text, "vos", strings(&rules.vos));
    line(text, "vo-map-read", rules.vo_map_read);
    line(text, "vo-map-write", rules.vo_map_write);
    line(text, "issuers", strings(&rules.issuers));
    line(text, "issuers-read", rules.issuers_read);
    line(text, "issuers-write", rules.issuers_write);
    line(text, "token-scopes", rules.token_scopes);
    line(text, "policies", rules.policies);
    for policy in &rules.policy {
        write_policy(text, &name, policy);
    }
}

fn write_policy(text: &mut String, area: &str, policy: &PolicySpec) {
    heading(text, &format!("[[storage-area.{area}.access.policy]]"));
    line(text, "description", string(&policy.description));
    line(text, "effect", if policy.effect == Effect::Permit { "\"permit\"" } else { "\"deny\"" });
    let actions: Vec<_> = policy
        .actions
        .iter()
        .filter_map(|action| Value::try_from(action).ok())
        .map(|v| v.to_string())
        .collect();
    line(text, "actions", format!("[{}]", actions.join(", ")));
    if !policy.paths.is_empty() {
        line(text, "paths", strings(&policy.paths));
    }
    let principals: Vec<_> =
        policy.principals.iter().map(|principal| format!("  {},\n", inline(principal))).collect();
    line(text, "principals", format!("[\n{}]", principals.concat()));
}

/// `{ type = "jwt-group", issuer = "...", group = "..." }`.
fn inline(principal: &Principal) -> String {
    let Ok(Value::Table(table)) = Value::try_from(principal) else { return String::new() };
    let pairs: Vec<_> = table.iter().map(|(name, value)| format!("{name} = {value}")).collect();
    format!("{{ {} }}", pairs.join(", "))
}

fn heading(text: &mut String, heading: &str) {
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(heading);
    text.push('\n');
}

fn line(text: &mut String, name: &str, value: impl std::fmt::Display) {
    // Writing to a String does not fail.
    let _ = writeln!(text, "{name} = {value}");
}

fn string(text: &str) -> String {
    Value::from(text).to_string()
}

fn strings(texts: &[String]) -> String {
    let quoted: Vec<_> = texts.iter().map(|text| string(text)).collect();
    format!("[{}]", quoted.join(", "))
}

/// Bare where TOML permits it.
fn key(name: &str) -> String {
    let bare = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    // A quoted key is a basic string: a literal one would do for the same names but not for all.
    if bare {
        name.to_owned()
    } else {
        serde_json::Value::from(name).to_string().replace('\u{7f}', "\\u007F")
    }
}
