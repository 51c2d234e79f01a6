//! Conversion of `application.yml`: token issuers, policies, and settings of the service.

use super::Notes;
use super::area::Area;
use super::policy::{self, AreaPolicy, read_policy};
use super::service::Service;
use super::token_issuer::TokenIssuer;
use super::yaml::{self, Node, Value, YamlError, same_key, unreadable};
use crate::AccessPath;
use crate::rule::Effect;

/// Token issuers, policies and settings from `application.yml`.
#[derive(Debug, Default)]
pub(super) struct Application {
    pub(super) issuers: Vec<TokenIssuer>,
    pub(super) service: Service,
    policies: Vec<AreaPolicy>,
}

impl Application {
    /// Reads one file after the previous ones. A list in this file replaces the same list of a previous file,
    /// as in Spring.
    ///
    /// # Errors
    /// If a part that may be a denial is unreadable. Without the denial, the result would permit more than
    /// StoRM does.
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
                    "tpc" => self.service.read_copies(node, notes),
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
                if same_key(key, "enable-oidc") && node.flag() != Some(false) {
                    notes.access(
                        node.line,
                        format!("oauth.{key} is not carried over: nobody logs in by OpenID Connect"),
                    );
                } else {
                    notes.add(node.line, format!("oauth.{key} is not carried over"));
                }
                continue;
            }
            let list = list_of(node, "oauth.issuers")?;
            if !self.issuers.is_empty() {
                notes.add(node.line, "these issuers replace those of the files before this one");
            }
            self.issuers = list.iter().filter_map(|issuer| TokenIssuer::read(issuer, notes)).collect();
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
                        if node.flag() != Some(false) {
                            let text = "storm.authz.disabled is not carried over: StoRM permits everything to every client with it; Weir \
                                        denies what no rule permits";
                            notes.access(node.line, text);
                        }
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

    /// Assigns each policy to its area and notes conflicts.
    pub(super) fn hand_out_policies(&mut self, areas: &mut [Area], notes: &mut Notes<'_>) {
        let has_vo_maps = self.service.has_vo_maps();
        for AreaPolicy { place, area: name, policy: mut spec } in self.policies.drain(..) {
            let reached = reached_areas(areas, &name);
            for (other, point) in &reached {
                let here = match spec.effect {
                    Effect::Deny => format!("so it is written there, too, for all of '{other}'"),
                    Effect::Permit => {
                        format!("here it counts in '{name}' only: write it there, too, if it shall count")
                    }
                };
                notes.access_at(
                    &place,
                    format!("StoRM applies this policy also at {point} of the area '{other}'; {here}"),
                );
            }
            let Some(area) = areas.iter_mut().find(|area| area.name == name) else {
                notes.access_at(&place, format!("policy for '{name}': there is no such area: left out"));
                continue;
            };
            if !area.rules.policies {
                notes.at(
                    &place,
                    format!("policies of '{name}' are off (fineGrainedAuthzEnabled): carried over, off"),
                );
            } else if spec.effect == Effect::Deny {
                notes.access_at(
                    &place,
                    "this denial is final; in StoRM it loses to anything that grants the same (vos, orgs, read switches, token scopes)",
                );
            }
            if has_vo_maps != Some(true)
                && let Some(what) = policy::without_vo_maps(&mut spec, has_vo_maps.is_some())
            {
                notes.access_at(&place, what);
            }
            area.rules.policy.push(spec.clone());
            area.policy_places.push(place.clone());
            if spec.effect == Effect::Deny {
                // Drop the paths, which makes the denial wider than in StoRM. A conversion may deny more, but
                // never less.
                spec.paths.clear();
                for area in
                    areas.iter_mut().filter(|area| reached.iter().any(|(other, _)| *other == area.name))
                {
                    area.rules.policy.push(spec.clone());
                    area.policy_places.push(place.clone());
                }
            }
        }
    }
}

/// Returns the areas with policies that have an access point below one of the area `name`. StoRM compares the
/// paths of all policies with those of all requests, whatever area a policy belongs to
/// (`DefaultPathAuthorizationPdp`).
fn reached_areas(areas: &[Area], name: &str) -> Vec<(String, String)> {
    let path = |point: &String| AccessPath::from_literal(point).ok().map(|path| path.as_directory());
    let above: Vec<_> = areas
        .iter()
        .filter(|area| area.name == name)
        .flat_map(|area| &area.access_points)
        .filter_map(path)
        .collect();
    let others = areas.iter().filter(|area| area.name != name && area.rules.policies);
    let points = others.flat_map(|area| area.access_points.iter().map(move |point| (area, point)));
    points
        .filter(|(_, point)| {
            path(point).is_some_and(|point| above.iter().any(|above| above.is_above(&point)))
        })
        .map(|(area, point)| (area.name.clone(), point.clone()))
        .collect()
}

fn dotted(node: &Node, key: &str) -> YamlError {
    unreadable(node, &format!("{key}: keys with dots are not read: write one below the other"))
}

/// Returns the node by which a document applies only to some Spring profile.
fn profile_of(spring: &Node) -> Option<&Node> {
    let nested = || spring.get("config")?.get("activate");
    let dotted = |(key, _): &&(String, Node)| key.contains("activate") || same_key(key, "profiles");
    nested().or_else(|| match spring.map().iter().find(dotted)? {
        // `spring.profiles.active` selects profiles; it does not make this document conditional.
        (_, node) if node.get("active").or(node.get("include")).is_some() => None,
        (_, node) => Some(node),
    })
}

/// Returns a list. A missing value counts as an empty list.
fn list_of(node: &Node, what: &str) -> Result<Vec<Node>, YamlError> {
    match &node.value {
        Value::List(list) => Ok(list.clone()),
        Value::Scalar(None) => Ok(Vec::new()),
        _ => Err(unreadable(node, &format!("{what} is no list"))),
    }
}
