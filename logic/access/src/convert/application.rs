use super::Notes;
use super::area::Area;
use super::service::Service;
use super::yaml::{self, Node, Value, same_key};
use crate::rule::{Effect, PathGlob, PolicyAction, PolicySpec, Principal};

/// What `application.yml` says of tokens and policies.
#[derive(Debug, Default)]
pub(super) struct Application {
    /// With their lines.
    pub(super) issuers: Vec<(usize, TokenIssuer)>,
    pub(super) service: Service,
    policies: Vec<(usize, String, PolicySpec)>,
}

/// A trusted issuer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TokenIssuer {
    pub(super) name: String,
    pub(super) issuer: String,
    pub(super) key_set: Option<String>,
    pub(super) audiences: Vec<String>,
}

impl Application {
    pub(super) fn read(&mut self, text: &str, notes: &mut Notes<'_>) {
        let documents = match yaml::parse(text) {
            Ok(documents) => documents,
            Err(error) => {
                return notes.add(error.line, format!("{}: the file is left out", error.why));
            }
        };
        for document in &documents {
            for (section, node) in document.map() {
                match section.as_str() {
                    "oauth" => self.read_oauth(node, notes),
                    "storm" => self.read_storm(node, notes),
                    _ => notes.add(node.line, format!("{section} is not carried over")),
                }
            }
        }
    }

    fn read_oauth(&mut self, oauth: &Node, notes: &mut Notes<'_>) {
        for (key, node) in oauth.map() {
            if !same_key(key, "issuers") {
                notes.add(node.line, format!("oauth.{key} is not carried over"));
                continue;
            }
            for issuer in node.list() {
                self.issuers.extend(token_issuer(&issuer, notes).map(|read| (issuer.line, read)));
            }
        }
    }

    fn read_storm(&mut self, storm: &Node, notes: &mut Notes<'_>) {
        for (key, node) in storm.map() {
            if !same_key(key, "authz") {
                self.service.read(key, node, notes);
                continue;
            }
            for (key, node) in node.map() {
                match same_key(key, "policies") {
                    true => self
                        .policies
                        .extend(node.list().iter().filter_map(|policy| read_policy(policy, notes))),
                    false if same_key(key, "disabled") => {
                        let text = "storm.authz.disabled is not carried over: here nobody may do what nothing permits";
                        notes.add(node.line, text);
                    }
                    false => notes.add(node.line, format!("storm.authz.{key} is not known here")),
                }
            }
        }
    }

    /// Gives each policy to its area, and looks for what does not fit together.
    pub(super) fn hand_out_policies(&mut self, areas: &mut [Area], notes: &mut Notes<'_>) {
        for (line, area, policy) in self.policies.drain(..) {
            match areas.iter_mut().find(|other| other.name == area) {
                None => notes.add(line, format!("policy for '{area}', an area that there is not: left out")),
                Some(area) => {
                    if !area.rules.policies {
                        let name = &area.name;
                        notes.add(
                            line,
                            format!(
                                "policies of '{name}' are off (fineGrainedAuthzEnabled): carried over, off"
                            ),
                        );
                    }
                    area.rules.policy.push(policy);
                }
            }
        }
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
    Some(TokenIssuer { name, issuer, key_set: text("jwk-uri"), audiences })
}

/// One policy with its line and its area. What cannot be carried over makes a permit smaller and a denial larger: access is
/// never opened by a conversion.
fn read_policy(node: &Node, notes: &mut Notes<'_>) -> Option<(usize, String, PolicySpec)> {
    for (key, value) in node.map() {
        let known = ["sa", "actions", "paths", "effect", "description", "principals"];
        if !known.iter().any(|name| same_key(key, name)) {
            notes.add(value.line, format!("{key} of a policy is not known here"));
        }
    }
    let text = |key: &str| node.get(key).and_then(Node::text);
    let Some(area) = text("sa") else {
        notes.add(node.line, "a policy without sa: left out");
        return None;
    };
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
    let (mut paths, given) = (Vec::new(), list("paths"));
    for path in &given {
        let text = path.text().unwrap_or_default();
        let text = if text.starts_with('/') { text.to_owned() } else { format!("/{text}") };
        match PathGlob::parse(&text) {
            Ok(glob) => paths.push(glob.to_string()),
            Err(error) => {
                notes.add(path.line, instead(denies, &format!("{text}: {error}"), "it denies everywhere"));
                paths.extend(denies.then(|| "/**".to_owned()));
            }
        }
    }
    let mut principals = Vec::new();
    for node in list("principals") {
        match principal(&node) {
            Ok(principal) => {
                if let Principal::Vo { .. } | Principal::VoMap { .. } | Principal::Fqan { .. } = principal {
                    notes.add(
                        node.line,
                        "certificates with VOMS attributes are not read: nobody is this principal",
                    );
                }
                principals.push(principal);
            }
            Err(why) => {
                notes.add(node.line, instead(denies, &why, "it denies to anyone"));
                principals.extend(denies.then_some(Principal::Anyone));
            }
        }
    }
    if actions.is_empty() || principals.is_empty() || (paths.is_empty() && !given.is_empty()) {
        notes.add(node.line, "a policy with nothing left that it is about: left out");
        return None;
    }
    let description = text("description").filter(|text| !text.trim().is_empty());
    let description = description.map_or_else(|| format!("line {}", node.line), str::to_owned);
    Some((node.line, area.to_owned(), PolicySpec { description, effect, actions, paths, principals }))
}

fn instead(denies: bool, what: &str, larger: &str) -> String {
    if denies { format!("{what}: {larger} instead") } else { format!("{what}: it permits without") }
}

fn principal(node: &Node) -> Result<Principal, String> {
    let kind = node.get("type").and_then(Node::text).unwrap_or_default();
    let parameters = node.get("params");
    let parameter = |name: &str| {
        let value = parameters.and_then(|node| node.get(name)).and_then(Node::text);
        value.map(str::to_owned).ok_or_else(|| format!("a principal {kind} without {name}"))
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
