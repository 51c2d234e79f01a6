//! The rules of one storage area and its access points.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::cedar::CedarPolicies;
use super::policy::Policy;
use super::switches::Switches;
use crate::AccessPath;

/// The rules of one storage area. They are valid by construction; see [`AreaSpec`](super::AreaSpec).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AreaRules {
    pub(super) name: String,
    pub(super) access_points: Vec<AccessPath>,
    pub(super) switches: Switches,
    pub(super) token_scopes: bool,
    /// Base path of each issuer's scopes, if it is not the access point.
    pub(super) scope_bases: BTreeMap<String, AccessPath>,
    /// Policies in their order; `None` = policies are off.
    pub(super) policies: Option<Vec<Policy>>,
    pub(super) cedar: Cedar,
}

/// State of an area's Cedar policies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Cedar {
    /// The area has no Cedar policies.
    None,
    /// The policies have not been read yet, so every request is denied.
    Unread,
    /// The policies.
    Read(Arc<CedarPolicies>),
}

/// Reason why an area's rules are invalid, with the key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleError {
    /// Position of the error, for example `policy 2, paths`.
    pub place: String,
    /// Description of the error.
    pub why: String,
}

/// A path within an area.
#[derive(Debug, Clone)]
pub(super) struct Place<'a> {
    pub(super) access_point: &'a AccessPath,
    /// Path relative to the area's root.
    pub(super) path: AccessPath,
}

impl AreaRules {
    /// Returns the area's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Sets the area's Cedar policies. An area that names policy files denies every request until then.
    #[must_use]
    pub fn with_cedar(self, policies: Arc<CedarPolicies>) -> Self {
        Self { cedar: Cedar::Read(policies), ..self }
    }

    /// Returns true if a path of the server is in the area. Compares whole components, so `/sa` does not
    /// contain `/sab`.
    pub fn holds(&self, path: &AccessPath) -> bool {
        self.locate(path).is_some()
    }

    /// Returns the path's position below the longest access point that contains it.
    pub(super) fn locate(&self, path: &AccessPath) -> Option<Place<'_>> {
        let below = |point| Some(Place { access_point: point, path: path.below(point)? });
        let places = self.access_points.iter().filter_map(below);
        places.max_by_key(|place| place.access_point.components().len())
    }

    /// Returns the path that the scopes of `issuer` are compared with: relative to the base path of these
    /// scopes.
    pub(super) fn below_scope_base(&self, issuer: &str, full: &AccessPath) -> Option<AccessPath> {
        match self.scope_bases.get(issuer) {
            Some(base) => full.below(base),
            None => self.locate(full).map(|place| place.path),
        }
    }
}

impl fmt::Display for RuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.why)
    }
}

impl std::error::Error for RuleError {}
