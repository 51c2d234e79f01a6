//! Decisions for a path and everything below it, as far as the heads of the policies determine them. A
//! `forbid` that may apply to a part counts whatever its conditions are. A `permit` counts only if it has no
//! conditions.

use std::collections::HashSet;

use cedar_policy::{EntityUid, Policy, PrincipalConstraint, ResourceConstraint};

use super::CedarPolicies;
use super::words::{Words, index_of};
use crate::identity::Identity;
use crate::rule::policy::Below;
use crate::{AccessPath, Action};

/// The share of a path and everything below it that a policy covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    Nothing,
    Some,
    All,
}

impl CedarPolicies {
    /// Returns the effect on an action on a path and everything below it. The path is relative to the root of
    /// the area.
    pub(in crate::rule) fn below(
        &self,
        identity: &Identity,
        action: &Action,
        area: &str,
        path: &AccessPath,
    ) -> Below {
        let Some(prepared) = self.by_action.get(index_of(action)) else { return Below::DeniesSome };
        let who = self.words.principal_uid(identity);
        let groups = self.words.groups(identity);
        let mut said = Below::Nothing;
        let about = prepared.policies.policies().filter(|policy| is_about(policy, &who, &groups));
        for policy in about {
            let reach = self.words.reach(policy, area, path);
            let forbids = policy.effect() == cedar_policy::Effect::Forbid;
            match (forbids, reach) {
                (true, Reach::Some | Reach::All) => return Below::DeniesSome,
                (false, Reach::All) if !policy.has_non_scope_constraint() => said = Below::PermitsAll,
                _ => {}
            }
        }
        said
    }
}

fn is_about(policy: &Policy, who: &EntityUid, groups: &HashSet<EntityUid>) -> bool {
    let is_in = |named: &EntityUid| named == who || groups.contains(named);
    match policy.principal_constraint() {
        PrincipalConstraint::Any => true,
        PrincipalConstraint::Eq(named) => named == *who,
        PrincipalConstraint::In(named) => is_in(&named),
        PrincipalConstraint::Is(kind) => kind == *who.type_name(),
        PrincipalConstraint::IsIn(kind, named) => kind == *who.type_name() && is_in(&named),
    }
}

impl Words {
    fn reach(&self, policy: &Policy, area: &str, path: &AccessPath) -> Reach {
        match policy.resource_constraint() {
            ResourceConstraint::Any => Reach::All,
            ResourceConstraint::Is(kind) if kind == self.path => Reach::All,
            ResourceConstraint::IsIn(kind, named) if kind == self.path => self.within(&named, area, path),
            ResourceConstraint::In(named) => self.within(&named, area, path),
            ResourceConstraint::Eq(named) if *named.type_name() == self.path => {
                self.within(&named, area, path)
            }
            // No request has a resource of another type.
            _ => Reach::Nothing,
        }
    }

    fn within(&self, named: &EntityUid, area: &str, path: &AccessPath) -> Reach {
        let (kind, id) = (named.type_name(), named.id().unescaped());
        if *kind == self.area {
            return if id == area { Reach::All } else { Reach::Nothing };
        }
        let Ok(there) = AccessPath::from_plain(id) else { return Reach::Nothing };
        let is_directory = *kind == self.directory;
        if is_directory && path.components().starts_with(there.components()) {
            Reach::All
        } else if (is_directory || *kind == self.path) && there.components().starts_with(path.components()) {
            Reach::Some
        } else {
            Reach::Nothing
        }
    }
}
