//! Decisions that hold for a path and everything below it. A token's scope states such a decision to other
//! services that verify the token.

use super::area::{AreaRules, Cedar};
use super::policy::{Below, PolicyAction};
use crate::identity::Identity;
use crate::{AccessPath, Action};

impl AreaRules {
    /// Returns true if the identity may perform the action on the path and on every possible path below it in
    /// this area. The answer can be false although each single request would be permitted. It is never true
    /// if any request would be denied. It is always false for a rename, because a rename has a destination.
    pub fn permits_below(&self, identity: &Identity, action: &Action, path: &AccessPath) -> bool {
        let Some(place) = self.locate(path) else { return false };
        if matches!(action, Action::Rename { .. }) {
            return false;
        }
        // Every scope also permits reading metadata, which Cedar policies may deny.
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

    /// Returns the longest access point that contains the path.
    pub fn access_point_above(&self, path: &AccessPath) -> Option<&AccessPath> {
        self.locate(path).map(|place| place.access_point)
    }

    /// Returns the access points of the area.
    pub fn access_points(&self) -> &[AccessPath] {
        &self.access_points
    }

    /// Decides by policies, then by switches, and denies otherwise.
    fn rules_below(&self, identity: &Identity, action: &Action, path: &AccessPath) -> bool {
        match self.policies_below(identity, action, path) {
            Below::PermitsAll => true,
            Below::DeniesSome => false,
            Below::Nothing => self.switches.grants(identity, action).is_some(),
        }
    }

    /// Combines Cedar policies and ordered policies: a denial by either one denies.
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

    /// Returns the result of the first policy that decides for the whole subtree. A permit for only a part of
    /// it does not decide; the later policies do.
    fn ordered_policies_below(&self, identity: &Identity, action: &Action, path: &AccessPath) -> Below {
        let policy_action = PolicyAction::of(action, path);
        let policies = self.policies.as_deref().into_iter().flatten();
        let mut said = policies.map(|policy| policy.below(identity, policy_action, path));
        said.find(|said| *said != Below::Nothing).unwrap_or(Below::Nothing)
    }
}
