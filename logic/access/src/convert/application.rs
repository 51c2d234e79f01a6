use super::area::Area;
use super::service::Service;
use super::yaml::{self, Node, Value, YamlError, same_key};
use super::{Notes, Place};
use crate::rule::{Effect, PathGlob, PolicyAction, PolicySpec, Principal};

/// What `application.yml` says of tokens and policies.
#[derive(Debug, Default)]
pub(super) struct Application {
    pub(super) issuers: Vec<TokenIssuer>,
    pub(super) service: Service,
    policies: Vec<AreaPolicy>,
}

/// A policy with the name of its area, and where it stands.
#[derive(Debug)]
struct AreaPolicy {
    place: Place,
    area: String,
    policy: PolicySpec,
}

/// A trusted issuer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TokenIssuer {
    pub(super) place: Place,
    pub(super) name: String,
    pub(super) issuer: String,
    pub(super) key_set: Option<String>,
    pub(super) audiences: Vec<String>,
}

impl Application {
    /// Reads one file, in addition to those before it. Lists that it has replace theirs, as Spring has it.
    ///
    /// # Errors
    /// Something could be a denial, and cannot be read: without it there would be more access than before.
    pub(super) fn read(&mut self, text: &str, notes: &mut Notes<'_>) -> Result<(), YamlError> {
        for document in &yaml::parse(text)? {
            if let Some(node) = document.get("spring").and_then(profile_of) {
                return Err(unreadable(
                    node,
                    "a document for a profile: give it a file application-PROFILE.yml",
                ));
            }
            for (section, node) in document.map() {
                match section.as_str() {
                    "oauth" => self.read_oauth(node, notes)?,
                    "storm" => self.read_storm(node, notes)?,
                    other if other.starts_with("oauth.") || other.starts_with("storm.") => {
                        return Err(dotted(node, other));
                    }
                    _ => notes.add(node.line, format!("{section} is not carried over")),
                }
            }
        }
        Ok(())
    }

    fn read_oauth(&mut self, oauth: &Node, notes: &mut Notes<'_>) -> Result<(), YamlError> {
        for (key, node) in oauth.map() {
            if !same_key(key, "issuers") {
                notes.add(node.line, format!("oauth.{key} is not carried over"));
                continue;
            }
            let list = list_of(node, "oauth.issuers")?;
            if !self.issuers.is_empty() {
                notes.add(node.line, "these issuers replace those of the files before this one");
            }
            self.issuers = list.iter().filter_map(|issuer| token_issuer(issuer, notes)).collect();
        }
        Ok(())
    }

    fn read_storm(&mut self, storm: &Node, notes: &mut Notes<'_>) -> Result<(), YamlError> {
        for (key, node) in storm.map() {
            if key.contains('.') {
                return Err(dotted(node, key));
            }
            if !same_key(key, "authz") {
                self.service.read(key, node, notes)?;
                continue;
            }
            for (key, node) in node.map() {
                match same_key(key, "policies") {
                    true => self.read_policies(node, notes)?,
                    false if key.contains(['.', '[']) => return Err(dotted(node, key)),
                    false if same_key(key, "disabled") => {
                        let text = "storm.authz.disabled is not carried over: here nobody may do what nothing permits";
                        notes.add(node.line, text);
                    }
                    false => notes.add(node.line, format!("storm.authz.{key} is not known here")),
                }
            }
        }
        Ok(())
    }

    fn read_policies(&mut self, node: &Node, notes: &mut Notes<'_>) -> Result<(), YamlError> {
        let list = list_of(node, "storm.authz.policies")?;
        if !self.policies.is_empty() {
            notes.add(node.line, "these policies replace those of the files before this one");
        }
        self.policies.clear();
        for policy in &list {
            self.policies.extend(read_policy(policy, notes)?);
        }
        Ok(())
    }

    /// Gives each policy to its area, and looks for what does not fit together.
    pub(super) fn hand_out_policies(&mut self, areas: &mut [Area], notes: &mut Notes<'_>) {
        let has_vo_maps = self.service.has_vo_maps();
        for AreaPolicy { place, area, mut policy } in self.policies.drain(..) {
            match areas.iter_mut().find(|other| other.name == area) {
                None => {
                    notes.at(&place, format!("policy for '{area}', an area that there is not: left out"));
                }
                Some(area) => {
                    if !area.rules.policies {
                        let name = &area.name;
                        notes.at(
                            &place,
                            format!(
                                "policies of '{name}' are off (fineGrainedAuthzEnabled): carried over, off"
                            ),
                        );
                    }
                    if has_vo_maps != Some(true)
                        && let Some(what) = without_vo_maps(&mut policy, has_vo_maps.is_some())
                    {
                        notes.at(&place, what);
                    }
                    area.rules.policy.push(policy);
                    area.policy_places.push(place);
                }
            }
        }
    }
}

/// Makes a policy fit that there are no files which say who is a member, and tells what becomes of it; `None`: it asks for none.
/// `is_said`: StoRM had none either. Else it may have had them, and a denial for their members is one for anyone.
fn without_vo_maps(policy: &mut PolicySpec, is_said: bool) -> Option<&'static str> {
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

fn unreadable(node: &Node, why: &str) -> YamlError {
    YamlError { line: node.line, why: why.to_owned() }
}

fn dotted(node: &Node, key: &str) -> YamlError {
    unreadable(node, &format!("{key}: keys with dots are not read: write one below the other"))
}

/// What says that a document counts only with a profile.
fn profile_of(spring: &Node) -> Option<&Node> {
    let nested = || spring.get("config")?.get("activate");
    let dotted = |(key, _): &&(String, Node)| key.contains("activate") || same_key(key, "profiles");
    nested().or_else(|| match spring.map().iter().find(dotted)? {
        // `spring.profiles.active` says which count, not when this one does.
        (_, node) if node.get("active").or(node.get("include")).is_some() => None,
        (_, node) => Some(node),
    })
}

/// A list where there must be one, or nothing.
fn list_of(node: &Node, what: &str) -> Result<Vec<Node>, YamlError> {
    match &node.value {
        Value::List(list) => Ok(list.clone()),
        Value::Scalar(None) => Ok(Vec::new()),
        _ => Err(unreadable(node, &format!("{what} is no list"))),
    }
}

fn token_issuer(node: &Node, notes: &mut Notes<'_>) -> Option<TokenIssuer> {
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
    let enforced = text("enforce-audience-checks").is_some_and(|value| value.eq_ignore_ascii_case("true"));
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
    Some(TokenIssuer { place: notes.place(node.line), name, issuer, key_set: text("jwk-uri"), audiences })
}

/// One policy with its area. What cannot be carried over makes a permit smaller and a denial larger: access is never opened
/// by a conversion.
///
/// # Errors
/// A denial for nobody knows which area.
fn read_policy(node: &Node, notes: &mut Notes<'_>) -> Result<Option<AreaPolicy>, YamlError> {
    for (key, value) in node.map() {
        let known = ["sa", "actions", "paths", "effect", "description", "principals"];
        if !known.iter().any(|name| same_key(key, name)) {
            notes.add(value.line, format!("{key} of a policy is not known here"));
        }
    }
    let text = |key: &str| node.get(key).and_then(Node::text);
    let effect = match text("effect") {
        Some(effect) if effect.eq_ignore_ascii_case("permit") => Effect::Permit,
        Some(effect) if effect.eq_ignore_ascii_case("deny") => Effect::Deny,
        None => Effect::Deny,
        Some(_) => {
            notes.add(node.line, "an effect that is neither permit nor deny: taken as deny");
            Effect::Deny
        }
    };
    let denies = effect == Effect::Deny;
    let area = match text("sa") {
        Some(area) if !area.contains("${") => area,
        _ if denies => return Err(unreadable(node, "a denial without sa, or whose sa is a placeholder")),
        _ => {
            notes.add(node.line, "a policy without sa, or whose sa is a placeholder: left out");
            return Ok(None);
        }
    };
    let list = |key: &str| node.get(key).map(Node::list).unwrap_or_default();

    let mut actions = Vec::new();
    for action in list("actions") {
        match action.text().map(str::to_ascii_lowercase).as_deref() {
            Some("list") => actions.push(PolicyAction::List),
            Some("read") => actions.push(PolicyAction::Read),
            Some("write") => actions.push(PolicyAction::Write),
            Some("delete") => actions.push(PolicyAction::Delete),
            Some("all") => actions.push(PolicyAction::All),
            _ => {
                notes.add(action.line, instead(denies, "an action that is not known here", "it denies all"));
                actions.extend(denies.then_some(PolicyAction::All));
            }
        }
    }
    let (mut paths, mut given) = (Vec::new(), list("paths"));
    // Named by a number each, they would be taken for none, which is everywhere.
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
                notes.add(path.line, instead(denies, &why, "it denies everywhere"));
                paths.extend(denies.then(|| "/**".to_owned()));
            }
        }
    }
    let mut principals = Vec::new();
    for node in list("principals") {
        match principal(&node) {
            // A denial, too: who shows no VOMS attributes here could have done so there.
            Ok(principal) => {
                if let Principal::Vo { .. } | Principal::Fqan { .. } = principal {
                    let text = "who that is says a proxy in front (identity-from), and nothing else";
                    notes.add(node.line, format!("{principal}: {text}"));
                }
                principals.push(principal);
            }
            Err(why) => {
                notes.add(node.line, instead(denies, &why, "it denies to anyone"));
                principals.extend(denies.then_some(Principal::Anyone));
            }
        }
    }
    if denies && actions.is_empty() {
        notes.add(node.line, "a denial of nothing that is known here: it denies all instead");
        actions.push(PolicyAction::All);
    }
    if denies && principals.is_empty() {
        notes.add(node.line, "a denial for nobody that is known here: it denies to anyone instead");
        principals.push(Principal::Anyone);
    }
    if actions.is_empty() || principals.is_empty() || (paths.is_empty() && !given.is_empty()) {
        notes.add(node.line, "a policy with nothing left that it is about: left out");
        return Ok(None);
    }
    let description = text("description").filter(|text| !text.trim().is_empty());
    let description = description.map_or_else(|| format!("line {}", node.line), str::to_owned);
    let policy = PolicySpec { description, effect, actions, paths, principals };
    Ok(Some(AreaPolicy { place: notes.place(node.line), area: area.to_owned(), policy }))
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
    Ok(match kind.to_ascii_lowercase().replace('_', "-").as_str() {
        "anyone" => Principal::Anyone,
        "any-authenticated-user" => Principal::AnyAuthenticatedUser,
        "anonymous" => Principal::Anonymous,
        "vo" => Principal::Vo { vo: parameter("vo")? },
        "vo-map" => Principal::VoMap { vo: parameter("vo")? },
        "fqan" => Principal::Fqan { fqan: parameter("fqan")? },
        "jwt-group" => Principal::JwtGroup { issuer: parameter("iss")?, group: parameter("group")? },
        "jwt-scope" => Principal::JwtScope { issuer: parameter("iss")?, scope: parameter("scope")? },
        "jwt-issuer" => Principal::JwtIssuer { issuer: parameter("iss")? },
        "jwt-subject" => Principal::JwtSubject { issuer: parameter("iss")?, subject: parameter("sub")? },
        "jwt-client" => Principal::JwtClient { issuer: parameter("iss")?, client: parameter("id")? },
        "x509-subject" => Principal::X509Subject { subject: parameter("subject")? },
        _ => return Err(format!("a principal of the type {kind:?}, which is not known here")),
    })
}
