//! What holds not for one path but for everything below it: what a scope says to others who verify a token.

use super::area::{AreaRules, Cedar};
use super::policy::{Below, PolicyAction};
use crate::identity::Identity;
use crate::{AccessPath, Action};

impl AreaRules {
    /// Whether somebody may do this at the path and at whatever could be below it in this area. May say no where each single
    /// request would be permitted, never yes where one would be denied. A rename is never permitted for all destinations.
    pub fn permits_below(&self, identity: &Identity, action: &Action, path: &AccessPath) -> bool {
        let Some(place) = self.locate(path) else { return false };
        if matches!(action, Action::Rename { .. }) {
            return false;
        }
        // Every scope says that what it is about may be looked at, and Cedar policies may say otherwise.
        if self.cedar != Cedar::None
            && *action != Action::Stat
            && !self.permits_below(identity, &Action::Stat, path)
        {
            return false;
        }
        match identity {
            Identity::Delegated(delegation) => {
                delegation.scopes.permits(action, path).is_some()
                    && self.permits_below(&delegation.holder, action, path)
            }
            Identity::Token(token) if !token.storage_scopes.is_absent() => {
                let from_base = self.below_scope_base(&token.issuer, path);
                let in_scope =
                    from_base.is_some_and(|path| token.storage_scopes.permits(action, &path).is_some());
                let by_policies = self.policies_below(identity, action, &place.path);
                in_scope
                    && by_policies != Below::DeniesSome
                    && match self.token_scopes {
                        true => self.switches.issuers.contains(&token.issuer),
                        false => self.rules_below(identity, action, &place.path),
                    }
            }
            _ => self.rules_below(identity, action, &place.path),
        }
    }

    /// The access point that is the closest above a path, or the path itself.
    pub fn access_point_above(&self, path: &AccessPath) -> Option<&AccessPath> {
        self.locate(path).map(|place| place.access_point)
    }

    /// Where the area is found.
    pub fn access_points(&self) -> &[AccessPath] {
        &self.access_points
    }

    /// Policies, then switches, then no.
    fn rules_below(&self, identity: &Identity, action: &Action, path: &AccessPath) -> bool {
        match self.policies_below(identity, action, path) {
            Below::PermitsAll => true,
            Below::DeniesSome => false,
            Below::Nothing => self.switches.grants(identity, action).is_some(),
        }
    }

    /// Cedar policies beside those that have an order: what either denies is denied.
    fn policies_below(&self, identity: &Identity, action: &Action, path: &AccessPath) -> Below {
        let ordered = self.ordered_policies_below(identity, action, path);
        let cedar = match &self.cedar {
            Cedar::None => return ordered,
            Cedar::Unread => Below::DeniesSome,
            Cedar::Read(policies) => policies.below(identity, action, &self.name, path),
        };
        match (ordered, cedar) {
            (Below::DeniesSome, _) | (_, Below::DeniesSome) => Below::DeniesSome,
            (Below::PermitsAll, _) | (_, Below::PermitsAll) => Below::PermitsAll,
            (Below::Nothing, Below::Nothing) => Below::Nothing,
        }
    }

    /// The first that says something. A permit for some of it says nothing: what it is not about is up to those after it.
    fn ordered_policies_below(&self, identity: &Identity, action: &Action, path: &AccessPath) -> Below {
        let policy_action = PolicyAction::of(action, path);
        let policies = self.policies.as_deref().into_iter().flatten();
        let mut said = policies.map(|policy| policy.below(identity, policy_action, path));
        said.find(|said| *said != Below::Nothing).unwrap_or(Below::Nothing)
    }
}
