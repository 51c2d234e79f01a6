//! Rules of a storage area as configuration files state them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::area::{AreaRules, Cedar, RuleError};
use super::glob::PathGlob;
use super::policy::{Effect, Policy, PolicyAction};
use super::principal::Principal;
use super::switches::Switches;
use crate::AccessPath;

/// The rules of an area in a config file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct AreaSpec {
    /// True if all clients may read.
    pub anonymous_read: bool,
    /// True if all authenticated clients may read.
    pub authenticated_read: bool,
    /// True if clients with a certificate may read.
    pub certificate_read: bool,
    /// Organisations whose members, as VOMS states, may perform all actions.
    pub vos: Vec<String>,
    /// True if clients that a VO map file makes members of `vos` may read.
    pub vo_map_read: bool,
    /// True if these clients may also write.
    pub vo_map_write: bool,
    /// Issuers whose tokens are accepted in the area.
    pub issuers: Vec<String>,
    /// True if bearers of their tokens may read.
    pub issuers_read: bool,
    /// True if bearers of their tokens may write.
    pub issuers_write: bool,
    /// True if the storage scopes of their tokens grant actions.
    pub token_scopes: bool,
    /// Base path of each issuer's scopes, if it is not the area's access point.
    pub scope_bases: BTreeMap<String, String>,
    /// True if the policies are on.
    pub policies: bool,
    /// Policies in the order of their evaluation.
    pub policy: Vec<PolicySpec>,
    /// Files of Cedar policies, or directories that contain them.
    pub cedar: Vec<PathBuf>,
}

/// One policy in a config file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PolicySpec {
    /// Name of the policy in reasons.
    pub description: String,
    /// Effect when the policy applies.
    #[serde(default = "deny")]
    pub effect: Effect,
    /// Actions that the policy covers.
    pub actions: Vec<PolicyAction>,
    /// Path patterns; an empty list covers the whole area.
    #[serde(default)]
    pub paths: Vec<String>,
    /// Principals that the policy covers.
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
    /// Builds the rules of the area `name` at its access points. The caller reads the files of Cedar
    /// policies; see [`AreaRules::with_cedar`].
    ///
    /// # Errors
    /// If a path or pattern is invalid, or if a policy has no description, actions or principals.
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
