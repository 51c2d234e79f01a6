//! Output of areas and issuers as TOML, in the order in which a person would write them.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use toml::Value;

use super::area::Area;
use super::fit;
use super::service::Service;
use super::token_issuer::TokenIssuer;
use crate::rule::{Effect, PolicySpec, Principal};

pub(super) fn toml(areas: &[Area], issuers: &[TokenIssuer], service: &Service) -> String {
    let mut text = String::new();
    // Without areas, there is nothing to serve.
    if !areas.is_empty() {
        listeners(&mut text, areas, service);
    }
    let mut names = BTreeSet::new();
    for issuer in issuers {
        // Two issuers with the same name would create the same table twice.
        let name = fit::free_name(&fit::name(&issuer.name), &mut names);
        heading(&mut text, &format!("[token-issuer.{}]", key(&name)));
        line(&mut text, "issuer", string(&issuer.issuer));
        if !issuer.audiences.is_empty() {
            line(&mut text, "audiences", strings(&issuer.audiences));
        }
    }
    if !areas.is_empty() && !service.copy_limits.is_empty() {
        heading(&mut text, "[third-party-copy]");
        for (limit, number) in &service.copy_limits {
            line(&mut text, limit, number);
        }
    }
    for area in areas {
        write_area(&mut text, area, service);
    }
    text
}

/// Writes the listeners. StoRM has one for plain HTTP and one for TLS; behind NGINX it has only plain HTTP.
fn listeners(text: &mut String, areas: &[Area], service: &Service) {
    heading(text, "[listener.http]");
    line(text, "bind", string(&format!(":{}", service.port)));
    if !service.behind_nginx {
        heading(text, "[listener.https]");
        line(text, "bind", string(&format!(":{}", service.secure_port)));
        heading(text, "[listener.https.tls]");
        let (certificate, key) = (string(&service.certificate), string(&service.key));
        line(text, "certificates", format!("{{ certificate = {certificate}, key = {key} }}"));
    }
    // Longest path first, because the first matching route applies.
    let mut points: Vec<(String, &str)> = Vec::new();
    for area in areas {
        points.extend(area.access_points.iter().map(|point| (route_path(point), area.name.as_str())));
    }
    points.sort_by_key(|(path, _)| std::cmp::Reverse(path.len()));
    for (path, area) in points {
        heading(text, "[[route]]");
        line(text, "path", string(&path));
        line(text, "storage", string(area));
    }
}

/// Returns the path of an access point, encoded as in a URL.
fn route_path(point: &str) -> String {
    let mut path = String::new();
    for component in point.split('/').filter(|component| !component.is_empty() && *component != ".") {
        path.push('/');
        for byte in component.bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                    path.push(char::from(byte))
                }
                _ => {
                    // Writing to a String does not fail.
                    let _ = write!(path, "%{byte:02X}");
                }
            }
        }
    }
    if path.is_empty() { "/".to_owned() } else { path }
}

fn write_area(text: &mut String, area: &Area, service: &Service) {
    let name = key(&area.name);
    heading(text, &format!("[storage-area.{name}]"));
    line(text, "root", string(&area.root));
    line(text, "access-points", strings(&area.access_points));
    line(text, "symlinks", string("never"));
    if service.without_checksums {
        line(text, "checksums", "[]");
    }
    let organisations = area.mapped_organisations().into_iter();
    let maps: Vec<_> = organisations
        .filter_map(|vo| Some(format!("{} = {}", key(vo), string(&service.vo_map_of(vo)?))))
        .collect();
    if !maps.is_empty() {
        line(text, "vo-maps", format!("{{ {} }}", maps.join(", ")));
    }
    // StoRM has no setting that turns this off.
    line(text, "third-party-copy", true);
    let rules = &area.rules;
    heading(text, &format!("[storage-area.{name}.access]"));
    line(text, "anonymous-read", rules.anonymous_read);
    line(text, "certificate-read", rules.certificate_read);
    line(text, "vos", strings(&rules.vos));
    line(text, "vo-map-read", rules.vo_map_read);
    line(text, "vo-map-write", rules.vo_map_write);
    line(text, "issuers", strings(&rules.issuers));
    line(text, "issuers-read", rules.issuers_read);
    // Without issuers, `true` would silently apply to the first issuer that an administrator adds later.
    line(text, "issuers-write", rules.issuers_write && !rules.issuers.is_empty());
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

/// Writes a principal as an inline table: `{ type = "jwt-group", issuer = "...", group = "..." }`.
fn inline(principal: &Principal) -> String {
    let Ok(Value::Table(table)) = Value::try_from(principal) else { return String::new() };
    let spelled = |value: &Value| value.as_str().map_or_else(|| value.to_string(), string);
    let pairs: Vec<_> = table.iter().map(|(name, value)| format!("{name} = {}", spelled(value))).collect();
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

/// Quotes a text and escapes `${`, which would otherwise start a variable.
fn string(text: &str) -> String {
    Value::from(text.replace("${", "$${")).to_string()
}

fn strings(texts: &[String]) -> String {
    let quoted: Vec<_> = texts.iter().map(|text| string(text)).collect();
    format!("[{}]", quoted.join(", "))
}

/// Writes a key without quotes if TOML permits it.
fn key(name: &str) -> String {
    let bare = !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    // Quote as a basic string, because a literal string cannot hold all names.
    if bare {
        name.to_owned()
    } else {
        serde_json::Value::from(name).to_string().replace('\u{7f}', "\\u007F")
    }
}
