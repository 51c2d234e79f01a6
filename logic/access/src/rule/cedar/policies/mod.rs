//! Cedar policies, implemented with the library `cedar-policy`.

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

/// Reason why this build does not support Cedar policies; `None` = it does.
pub const MISSING: Option<&str> = None;

/// The Cedar policies of an area.
pub struct CedarPolicies {
    words: words::Words,
    authorizer: Authorizer,
    /// Policies in the order of the files, and of their position in each file.
    policies: Vec<CedarPolicy>,
    /// Index of each policy in `policies`, by its id.
    places: BTreeMap<String, usize>,
    /// Policies for each action, in the order of [`words::index_of`].
    by_action: Vec<Prepared>,
}

/// One policy and its position, for reasons.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CedarPolicy {
    /// Name from the annotation `@id`.
    name: Option<String>,
    file: String,
    /// Line number, from 1.
    line: usize,
    parsed: cedar_policy::Policy,
}

/// An action and the policies that cover it.
struct Prepared {
    action: Entity,
    policies: PolicySet,
    /// Set when one of the policies uses the context.
    needs_context: bool,
}

impl CedarPolicies {
    /// Returns the number of policies.
    pub fn len(&self) -> usize {
        self.policies.len()
    }

    /// Returns true if there are no policies.
    pub fn is_empty(&self) -> bool {
        self.policies.is_empty()
    }
}

impl CedarPolicy {
    fn forbids(&self) -> bool {
        self.parsed.effect() == Effect::Forbid
    }
}

/// Shows `Cedar policy 'raw-stays' (/etc/weir/policies/data.cedar:3)`.
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

/// Compares only the policies, because all other fields derive from them.
impl PartialEq for CedarPolicies {
    fn eq(&self, other: &Self) -> bool {
        self.policies == other.policies
    }
}

impl Eq for CedarPolicies {}
