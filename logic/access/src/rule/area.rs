use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::cedar::CedarPolicies;
use super::policy::Policy;
use super::switches::Switches;
use crate::AccessPath;

/// The rules of one storage area, valid by construction: see [`AreaSpec`](super::AreaSpec).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AreaRules {
    pub(super) name: String,
    pub(super) access_points: Vec<AccessPath>,
    pub(super) switches: Switches,
    pub(super) token_scopes: bool,
    /// Where an issuer's scopes begin, if not at the access point.
    pub(super) scope_bases: BTreeMap<String, AccessPath>,
    /// `None`: policies are off.
    pub(super) policies: Option<Vec<Policy>>,
    pub(super) cedar: Cedar,
}

/// Cedar policies, as far as the area has them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Cedar {
    /// It has none.
    None,
    /// They have not been read: nobody may do anything.
    Unread,
    /// These.
    Read(Arc<CedarPolicies>),
}

/// Why an area's rules are not valid: the key, and what is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleError {
    /// E.g. `policy 2, paths`.
    pub place: String,
    /// What is wrong.
    pub why: String,
}

/// A path within an area.
#[derive(Debug, Clone)]
pub(super) struct Place<'a> {
    pub(super) access_point: &'a AccessPath,
    /// From the area's root.
    pub(super) path: AccessPath,
}

impl AreaRules {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// With its Cedar policies. Until then, an area that names files of them lets nobody do anything.
    #[must_use]
    pub fn with_cedar(self, policies: Arc<CedarPolicies>) -> Self {
        Self { cedar: Cedar::Read(policies), ..self }
    }

    /// Whether a path of the server is in the area: by whole components, so that `/sa` does not hold `/sab`.
    pub fn holds(&self, path: &AccessPath) -> bool {
        self.locate(path).is_some()
    }

    /// The longest access point that a path is below.
    pub(super) fn locate(&self, path: &AccessPath) -> Option<Place<'_>> {
        let below = |point| Some(Place { access_point: point, path: path.below(point)? });
        let places = self.access_points.iter().filter_map(below);
        places.max_by_key(|place| place.access_point.components().len())
    }

    /// What a scope of `issuer` is compared with: the path from where its scopes begin.
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
