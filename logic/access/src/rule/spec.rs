use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::area::{AreaRules, Cedar, RuleError};
use super::glob::PathGlob;
use super::policy::{Effect, Policy, PolicyAction};
use super::principal::Principal;
use super::switches::Switches;
use crate::AccessPath;

/// The rules of an area as a config file has them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct AreaSpec {
    /// Everybody may read.
    pub anonymous_read: bool,
    /// Everybody who has proved to be somebody may read.
    pub authenticated_read: bool,
    /// Clients with a certificate may read.
    pub certificate_read: bool,
    /// Organisations whose members, by VOMS, may do everything.
    pub vos: Vec<String>,
    /// Those whom a VO map file makes members of `vos` may read.
    pub vo_map_read: bool,
    /// And write.
    pub vo_map_write: bool,
    /// Issuers whose tokens count here.
    pub issuers: Vec<String>,
    /// Bearers of their tokens may read.
    pub issuers_read: bool,
    /// And write.
    pub issuers_write: bool,
    /// The storage scopes of their tokens grant what they say.
    pub token_scopes: bool,
    /// Where an issuer's scopes begin, if not at the area's access point.
    pub scope_bases: BTreeMap<String, String>,
    /// Whether policies are looked at.
    pub policies: bool,
    /// The policies, in the order in which they are looked at.
    pub policy: Vec<PolicySpec>,
    /// Files of Cedar policies, or directories of them.
    pub cedar: Vec<PathBuf>,
}

/// One policy as a config file has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PolicySpec {
    /// What reasons call it.
    pub description: String,
    /// What it does.
    #[serde(default = "deny")]
    pub effect: Effect,
    /// To what.
    pub actions: Vec<PolicyAction>,
    /// Where; the whole area if nothing is said.
    #[serde(default)]
    pub paths: Vec<String>,
    /// To whom.
    pub principals: Vec<Principal>,
}

fn deny() -> Effect {
    Effect::Deny
}

impl Default for AreaSpec {
    fn default() -> Self {
        Self {
            anonymous_read: false,
            authenticated_read: false,
            certificate_read: false,
            vos: Vec::new(),
            vo_map_read: true,
            vo_map_write: false,
            issuers: Vec::new(),
            issuers_read: true,
            issuers_write: false,
            token_scopes: false,
            scope_bases: BTreeMap::new(),
            policies: true,
            policy: Vec::new(),
            cedar: Vec::new(),
        }
    }
}

impl AreaSpec {
    /// The rules of the area `name` at its access points. Files of Cedar policies are the caller's to read: see
    /// [`AreaRules::with_cedar`].
    ///
    /// # Errors
    /// A path or pattern is none, or a policy is about nobody or nothing.
    pub fn resolve(&self, name: &str, access_points: &[&str]) -> Result<AreaRules, RuleError> {
        let fail = |place: &str, why: String| RuleError { place: place.to_owned(), why };
        if access_points.is_empty() {
            return Err(fail("access points", "there are none".to_owned()));
        }
        let path = |place: &str, text: &str| {
            let path =
                AccessPath::from_literal(text).map_err(|error| fail(place, format!("{text}: {error}")))?;
            Ok(path.as_directory())
        };
        let points =
            access_points.iter().map(|text| path("access points", text)).collect::<Result<_, _>>()?;
        let bases =
            self.scope_bases.iter().map(|(issuer, text)| Ok((issuer.clone(), path("scope-bases", text)?)));
        let policies = self.policy.iter().enumerate();
        let policies = policies.map(|(at, policy)| policy.resolve(at + 1)).collect::<Result<Vec<_>, _>>()?;
        Ok(AreaRules {
            name: name.to_owned(),
            access_points: points,
            switches: Switches {
                anonymous_read: self.anonymous_read,
                authenticated_read: self.authenticated_read,
                certificate_read: self.certificate_read,
                vos: self.vos.clone(),
                vo_map_read: self.vo_map_read,
                vo_map_write: self.vo_map_write,
                issuers: self.issuers.clone(),
                issuers_read: self.issuers_read,
                issuers_write: self.issuers_write,
            },
            token_scopes: self.token_scopes,
            scope_bases: bases.collect::<Result<_, _>>()?,
            policies: self.policies.then_some(policies),
            cedar: if self.cedar.is_empty() { Cedar::None } else { Cedar::Unread },
        })
    }
}

impl PolicySpec {
    fn resolve(&self, number: usize) -> Result<Policy, RuleError> {
        let fail = |key: &str, why: String| RuleError { place: format!("policy {number}, {key}"), why };
        if self.description.trim().is_empty() {
            return Err(fail("description", "it is empty, and reasons name a policy by it".to_owned()));
        }
        if self.actions.is_empty() {
            return Err(fail("actions", "there are none".to_owned()));
        }
        if self.principals.is_empty() {
            return Err(fail(
                "principals",
                "there are none; for everybody there is { type = \"anyone\" }".to_owned(),
            ));
        }
        let glob =
            |text: &String| PathGlob::parse(text).map_err(|error| fail("paths", format!("{text}: {error}")));
        let mut paths = self.paths.iter().map(glob).collect::<Result<Vec<_>, _>>()?;
        if paths.is_empty() {
            paths.push(PathGlob::everything());
        }
        Ok(Policy {
            description: self.description.clone(),
            effect: self.effect,
            actions: self.actions.clone(),
            paths,
            principals: self.principals.clone(),
        })
    }
}
