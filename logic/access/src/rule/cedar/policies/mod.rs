//! Policies, by the library `cedar-policy`.

mod ask;
mod below;
mod entities;
mod faults;
mod parse;
mod shape;
mod words;

use std::collections::BTreeMap;
use std::fmt;

use cedar_policy::{Authorizer, Effect, Entity, PolicySet};

/// Why this build has no Cedar policies; `None` = it has.
pub const MISSING: Option<&str> = None;

/// The Cedar policies of an area.
pub struct CedarPolicies {
    words: words::Words,
    authorizer: Authorizer,
    /// In the order of the files, and of each as it is written.
    policies: Vec<CedarPolicy>,
    /// Where each is among them, by its id.
    places: BTreeMap<String, usize>,
    /// Those that are about each action, in the order of [`words::index_of`].
    by_action: Vec<Prepared>,
}

/// What can be told of one policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CedarPolicy {
    /// Its `@id`.
    name: Option<String>,
    file: String,
    /// From 1.
    line: usize,
    parsed: cedar_policy::Policy,
}

/// What is asked about an action.
struct Prepared {
    action: Entity,
    policies: PolicySet,
    /// One of them looks at the circumstances.
    needs_context: bool,
}

impl CedarPolicies {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.policies.len()
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.policies.is_empty()
    }
}

impl CedarPolicy {
    fn forbids(&self) -> bool {
        self.parsed.effect() == Effect::Forbid
    }
}

/// `Cedar policy 'raw-stays' (/etc/weir/policies/data.cedar:3)`.
impl fmt::Display for CedarPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "Cedar policy '{name}' ({}:{})", self.file, self.line),
            None => write!(f, "the Cedar policy at {}:{}", self.file, self.line),
        }
    }
}

impl fmt::Debug for CedarPolicies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.policies.iter().map(ToString::to_string)).finish()
    }
}

/// What they were parsed from is all that they are.
impl PartialEq for CedarPolicies {
    fn eq(&self, other: &Self) -> bool {
        self.policies == other.policies
    }
}

impl Eq for CedarPolicies {}
