//! Conversion of the fine-grained policies in `application.yml`.

use super::yaml::{Node, Value, YamlError, same_key, unreadable};
use super::{Notes, Place};
use crate::rule::{Effect, PathGlob, PolicyAction, PolicySpec, Principal};

/// A policy with the name of its area and its position.
#[derive(Debug)]
pub(super) struct AreaPolicy {
    pub(super) place: Place,
    pub(super) area: String,
    pub(super) policy: PolicySpec,
}

/// Reads one policy with its area. A part that cannot be converted makes a permit narrower and a denial
/// wider, so that a conversion never grants more access.
///
/// # Errors
/// If a denial names no area, or a placeholder.
pub(super) fn read_policy(node: &Node, notes: &mut Notes<'_>) -> Result<Option<AreaPolicy>, YamlError> {
    for (key, value) in node.map() {
        let known = ["sa", "actions", "paths", "effect", "description", "principals"];
        if !known.iter().any(|name| same_key(key, name)) {
            notes.add(value.line, format!("{key} of a policy is not known here"));
        }
    }
    let text = |key: &str| node.get(key).and_then(Node::text);
    let effect = match text("effect") {
        Some(effect) if same_key(effect, "permit") => Effect::Permit,
        Some(effect) if same_key(effect, "deny") => Effect::Deny,
        None => Effect::Deny,
        Some(_) => {
            notes.access(node.line, "an effect that is neither permit nor deny: taken as deny");
            Effect::Deny
        }
    };
    let denies = effect == Effect::Deny;
    let area = match text("sa") {
        Some(area) if !area.contains("${") => area,
        _ if denies => return Err(unreadable(node, "a denial without sa, or whose sa is a placeholder")),
        _ => {
            notes.access(node.line, "a policy without sa, or whose sa is a placeholder: left out");
            return Ok(None);
        }
    };
    let list = |key: &str| node.get(key).map(Node::list).unwrap_or_default();

    let mut actions = read_actions(node, &list("actions"), denies, notes);
    let (mut paths, mut given) = (Vec::new(), list("paths"));
    // A map of numbered paths would count as an empty list, which means all paths.
    given.extend(node.get("paths").filter(|paths| !paths.map().is_empty()).cloned());
    for path in &given {
        let read = match path.text().filter(|text| !text.is_empty()) {
            None => Err("a path that is no text".to_owned()),
            Some(text) => {
                let text = if text.starts_with('/') { text.to_owned() } else { format!("/{text}") };
                PathGlob::parse(&text).map_err(|error| format!("{text}: {error}"))
            }
        };
        match read {
            Ok(glob) => paths.push(glob.to_string()),
            Err(why) => {
                notes.access(path.line, instead(denies, &why, "it denies everywhere"));
                paths.extend(denies.then(|| "/**".to_owned()));
            }
        }
    }
    let mut principals = Vec::new();
    for node in list("principals") {
        match principal(&node) {
            // Note this also for a denial: a client without VOMS attributes here could have had them in
            // StoRM.
            Ok(principal) => {
                if let Some(text) = difference(&principal) {
                    notes.access(node.line, format!("{principal}: {text}"));
                }
                principals.push(principal);
            }
            Err(why) => {
                notes.access(node.line, instead(denies, &why, "it denies to anyone"));
                principals.extend(denies.then_some(Principal::Anyone));
            }
        }
    }
    if denies && actions.is_empty() {
        notes.access(node.line, "a denial of nothing that is known here: it denies all instead");
        actions.push(PolicyAction::All);
    }
    if denies && principals.is_empty() {
        notes.access(node.line, "a denial for nobody that is known here: it denies to anyone instead");
        principals.push(Principal::Anyone);
    }
    if actions.is_empty() || principals.is_empty() || (paths.is_empty() && !given.is_empty()) {
        notes.access(node.line, "a policy with nothing left that it is about: left out");
        return Ok(None);
    }
    let description = text("description").filter(|text| !text.trim().is_empty());
    let description = description.map_or_else(|| format!("line {}", node.line), str::to_owned);
    let policy = PolicySpec { description, effect, actions, paths, principals };
    Ok(Some(AreaPolicy { place: notes.place(node.line), area: area.to_owned(), policy }))
}

/// Reads the actions of a policy. StoRM's `read` includes PROPFIND, and its `write` also covers the source of
/// a MOVE (`ReadonlyHttpMethodMatcher`, `WriteHttpMethodMatcher`).
fn read_actions(policy: &Node, list: &[Node], denies: bool, notes: &mut Notes<'_>) -> Vec<PolicyAction> {
    let mut actions = Vec::new();
    let mut add = |action| {
        if !actions.contains(&action) {
            actions.push(action);
        }
    };
    for action in list {
        match action.text().unwrap_or_default() {
            text if same_key(text, "list") => add(PolicyAction::List),
            text if same_key(text, "read") => {
                [PolicyAction::List, PolicyAction::Read].into_iter().for_each(&mut add)
            }
            text if same_key(text, "write") => add(PolicyAction::Write),
            text if same_key(text, "delete") => add(PolicyAction::Delete),
            text if same_key(text, "all") => add(PolicyAction::All),
            _ => {
                notes.access(
                    action.line,
                    instead(denies, "an action that is not known here", "it denies all"),
                );
                if denies {
                    add(PolicyAction::All);
                }
            }
        }
    }
    let is_about = |action| actions.contains(&action) || actions.contains(&PolicyAction::All);
    let (writes, deletes) = (is_about(PolicyAction::Write), is_about(PolicyAction::Delete));
    let lists_only = is_about(PolicyAction::List) && !is_about(PolicyAction::Read);
    let moves_apart = writes && !deletes;
    if moves_apart && denies {
        notes.access(
            policy.line,
            "to write includes to move something away in StoRM, which is to delete here: it denies to delete, too",
        );
        actions.push(PolicyAction::Delete);
    } else if moves_apart {
        notes.access(
            policy.line,
            "to write includes to move something away in StoRM; here to move something away takes read and delete",
        );
    }
    if !denies && !actions.contains(&PolicyAction::All) && writes {
        notes.access(
            policy.line,
            "to write includes to set properties (PROPPATCH) here; in StoRM only all includes that",
        );
    }
    if !denies && lists_only {
        notes.access(policy.line, "to list includes a PROPFIND of a file in StoRM; here that takes read");
    }
    actions
}

/// Returns the difference between StoRM and Weir in how a client matches this principal, if there is one.
fn difference(principal: &Principal) -> Option<&'static str> {
    match principal {
        Principal::Vo { .. } | Principal::Fqan { .. } => {
            Some("only a proxy in front (identity-from) can say who that is")
        }
        Principal::JwtGroup { .. } => Some(
            "groups are those of all of wlcg.groups, groups, entitlements and eduperson_entitlement; StoRM looks at the first of groups, \
             wlcg.groups and entitlements that a token has",
        ),
        Principal::JwtClient { .. } => {
            Some("the client is that of azp where a token has no client_id; StoRM looks at client_id only")
        }
        _ => None,
    }
}

fn instead(denies: bool, what: &str, larger: &str) -> String {
    if denies { format!("{what}: {larger} instead") } else { format!("{what}: it permits without") }
}

fn principal(node: &Node) -> Result<Principal, String> {
    let kind = node.get("type").and_then(Node::text).unwrap_or_default();
    let parameters = node.get("params");
    let parameter = |name: &str| {
        let value = parameters.and_then(|node| node.get(name)).and_then(Node::text);
        let value = value.ok_or_else(|| format!("a principal {kind} without {name}"))?;
        match value.contains("${") {
            true => Err(format!("a principal {kind} whose {name} is a placeholder")),
            false => Ok(value.to_owned()),
        }
    };
    if let Some(Value::List(_)) = parameters.map(|node| &node.value) {
        return Err(format!("a principal {kind} with a list of params"));
    }
    // Spring treats JWT_GROUP, jwt-group and jwtGroup as the same name.
    let kind_is = |name: &str| same_key(kind, name);
    Ok(match () {
        () if kind_is("anyone") => Principal::Anyone,
        () if kind_is("any-authenticated-user") => Principal::AnyAuthenticatedUser,
        () if kind_is("anonymous") => Principal::Anonymous,
        () if kind_is("vo") => Principal::Vo { vo: parameter("vo")? },
        () if kind_is("vo-map") => Principal::VoMap { vo: parameter("vo")? },
        () if kind_is("fqan") => Principal::Fqan { fqan: parameter("fqan")? },
        () if kind_is("jwt-group") => {
            Principal::JwtGroup { issuer: parameter("iss")?, group: parameter("group")? }
        }
        () if kind_is("jwt-scope") => {
            Principal::JwtScope { issuer: parameter("iss")?, scope: parameter("scope")? }
        }
        () if kind_is("jwt-issuer") => Principal::JwtIssuer { issuer: parameter("iss")? },
        () if kind_is("jwt-subject") => {
            Principal::JwtSubject { issuer: parameter("iss")?, subject: parameter("sub")? }
        }
        () if kind_is("jwt-client") => {
            Principal::JwtClient { issuer: parameter("iss")?, client: parameter("id")? }
        }
        () if kind_is("x509-subject") => Principal::X509Subject { subject: parameter("subject")? },
        () => return Err(format!("a principal of the type {kind:?}, which is not known here")),
    })
}

/// Adapts a policy to a service without VO map files and returns a note about it. Returns `None` if the
/// policy does not use such files. `is_said` is true if StoRM's configuration turns them off explicitly.
/// Otherwise StoRM may have used them, so a denial for their members becomes a denial for all clients.
pub(super) fn without_vo_maps(policy: &mut PolicySpec, is_said: bool) -> Option<&'static str> {
    let is_mapped = |principal: &Principal| matches!(principal, Principal::VoMap { .. });
    if !policy.principals.iter().any(is_mapped) {
        return None;
    }
    if is_said || policy.effect == Effect::Permit {
        return Some(
            "vo-map: storm.vo-map-files is not on in these files (STORM_WEBDAV_VO_MAP_FILES_ENABLE is not read), so nobody is \
             a member by a file until vo-maps names one",
        );
    }
    policy.principals.retain(|principal| !is_mapped(principal));
    policy.principals.push(Principal::Anyone);
    Some(
        "vo-map: storm.vo-map-files is not on in these files (STORM_WEBDAV_VO_MAP_FILES_ENABLE is not read): it denies to anyone \
         instead, unless storm.vo-map-files.enabled says true or false",
    )
}
