//! The access decision for one request, by the rules of a storage area.

use super::area::{AreaRules, Cedar, Place};
use super::cedar::{Asked, Verdict};
use super::circumstances::Circumstances;
use super::policy::{Effect, PolicyAction};
use super::reason::{Cause, Decision, Reason};
use crate::identity::{Identity, TokenIdentity};
use crate::wlcg::ScopeSet;
use crate::{AccessPath, Action};

/// One action that a client requests on one path.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// Identity of the client.
    pub identity: &'a Identity,
    /// Requested action.
    pub action: &'a Action,
    /// Path from the root of the server.
    pub path: &'a AccessPath,
    /// Other attributes of the request, for Cedar policies.
    pub circumstances: &'a Circumstances,
}

/// Decides by the rules of an area, in the order that the documentation of [`rule`](super) states.
pub fn decide<'a>(area: &'a AreaRules, request: Request<'a>) -> Decision<'a> {
    let Request { identity, action, path, circumstances } = request;
    let how = How { action, circumstances };
    Decision { identity, action, path, reason: area.judge(identity, how, path) }
}

/// The requested action and the attributes of the request.
#[derive(Clone, Copy)]
struct How<'a> {
    action: &'a Action,
    circumstances: &'a Circumstances,
}

/// One part of a rename, or the whole of another action.
struct Part<'a> {
    place: Place<'a>,
    action: Action,
    policy_action: PolicyAction,
    circumstances: &'a Circumstances,
}

/// Result of the policies for one part.
enum Ruling<'a> {
    Denied(Reason<'a>),
    Permitted(Reason<'a>),
    Silent(Reason<'a>),
}

impl AreaRules {
    fn judge<'a>(&'a self, identity: &'a Identity, how: How<'a>, path: &'a AccessPath) -> Reason<'a> {
        let action = how.action;
        let Some(parts) = self.parts(how, path) else {
            return Reason::new(false, Cause::OutsideArea { area: &self.name });
        };
        match identity {
            Identity::Delegated(delegation) => {
                let holder = self.judge(&delegation.holder, how, path);
                if !holder.allows {
                    return holder;
                }
                let holder = Reason::with(true, Cause::Holder, vec![holder]);
                Reason::all(vec![holder, by_scopes(&delegation.scopes, action, path.clone())])
            }
            Identity::Token(token) if !token.storage_scopes.is_absent() => {
                self.judge_capability(identity, token, action, path, &parts)
            }
            _ => Reason::all(parts.iter().map(|part| self.by_rules(identity, part)).collect()),
        }
    }

    /// Decides for a token that is limited to its storage scopes.
    fn judge_capability<'a>(
        &'a self,
        identity: &'a Identity,
        token: &'a TokenIdentity,
        action: &'a Action,
        path: &AccessPath,
        parts: &[Part<'a>],
    ) -> Reason<'a> {
        for part in parts {
            if let Ruling::Denied(reason) = self.by_policies(identity, part) {
                return reason;
            }
        }
        let scopes = self.by_issuers_scopes(token, action, path);
        if !self.token_scopes {
            let mut needed: Vec<_> = parts.iter().map(|part| self.by_rules(identity, part)).collect();
            let limit = Reason::with(scopes.allows, Cause::ScopesOff { area: &self.name }, vec![scopes]);
            needed.push(limit);
            return Reason::all(needed);
        }
        if !self.switches.issuers.contains(&token.issuer) {
            return Reason::new(false, Cause::IssuerNotListed { area: &self.name, issuer: &token.issuer });
        }
        scopes
    }

    /// Decides by a token's scopes, relative to the base path of its issuer's scopes.
    fn by_issuers_scopes<'a>(
        &'a self,
        token: &'a TokenIdentity,
        action: &Action,
        path: &AccessPath,
    ) -> Reason<'a> {
        let outside = |base| Reason::new(false, Cause::OutsideScopeBase { base });
        let base = self.scope_bases.get(&token.issuer).or(self.access_points.first());
        let below = |path| self.below_scope_base(&token.issuer, path);
        let moved = match action {
            Action::Rename { to } => below(to).map(|to| Action::Rename { to }),
            other => Some(other.clone()),
        };
        match (below(path), moved, base) {
            (Some(path), Some(action), _) => by_scopes(&token.storage_scopes, &action, path),
            (_, _, Some(base)) => outside(base),
            (_, _, None) => Reason::new(false, Cause::OutsideArea { area: &self.name }),
        }
    }

    /// Decides by policies, then by switches, and denies otherwise.
    fn by_rules<'a>(&'a self, identity: &'a Identity, part: &Part<'a>) -> Reason<'a> {
        let silent = match self.by_policies(identity, part) {
            Ruling::Denied(reason) | Ruling::Permitted(reason) => return reason,
            Ruling::Silent(reason) => reason,
        };
        match self.switches.grants(identity, &part.action) {
            Some(grant) => Reason::with(true, Cause::Switch { area: &self.name, grant }, vec![silent]),
            None => {
                let nothing = Cause::Nothing { area: &self.name, action: part.policy_action };
                Reason::with(false, nothing, vec![silent, Reason::new(false, Cause::NoSwitch)])
            }
        }
    }

    /// Decides by ordered policies, then by Cedar policies. A denial by either one denies.
    fn by_policies<'a>(&'a self, identity: &'a Identity, part: &Part<'a>) -> Ruling<'a> {
        let ordered = self.by_ordered_policies(identity, part);
        match (ordered, &self.cedar) {
            (denied @ Ruling::Denied(_), _) => denied,
            (ordered, Cedar::None) => ordered,
            (_, Cedar::Unread) => Ruling::Denied(Reason::new(false, Cause::CedarUnread { area: &self.name })),
            (ordered, Cedar::Read(policies)) => {
                let asked = Asked {
                    identity,
                    action: &part.action,
                    area: &self.name,
                    path: &part.place.path,
                    circumstances: part.circumstances,
                };
                match (policies.ask(&asked), ordered) {
                    (Verdict::Forbids(policy, error), _) => {
                        let cause = Cause::Cedar { area: &self.name, policy, allows: false, error };
                        Ruling::Denied(Reason::new(false, cause))
                    }
                    (Verdict::Failed(error), _) => {
                        Ruling::Denied(Reason::new(false, Cause::CedarFailed { area: &self.name, error }))
                    }
                    (_, Ruling::Permitted(reason)) => Ruling::Permitted(reason),
                    (Verdict::Permits(policy), _) => {
                        let cause = Cause::Cedar { area: &self.name, policy, allows: true, error: None };
                        Ruling::Permitted(Reason::new(true, cause))
                    }
                    (Verdict::Silent(failed), Ruling::Silent(reason) | Ruling::Denied(reason)) => {
                        let failed = failed.into_iter().map(|(policy, error)| {
                            let error = Some(error);
                            Reason::new(false, Cause::Cedar { area: &self.name, policy, allows: true, error })
                        });
                        let silent = Cause::NoCedarPolicy(policies.len());
                        let parts = vec![reason, Reason::with(false, silent, failed.collect())];
                        Ruling::Silent(Reason::with(false, Cause::NoRule, parts))
                    }
                }
            }
        }
    }

    fn by_ordered_policies<'a>(&'a self, identity: &'a Identity, part: &Part<'a>) -> Ruling<'a> {
        let policies = self.policies.as_deref();
        for (at, policy) in policies.into_iter().flatten().enumerate() {
            let Some(applies) = policy.applies(identity, part.policy_action, &part.place.path) else {
                continue;
            };
            let cause = Cause::Policy {
                area: &self.name,
                number: at + 1,
                policy,
                principal: applies.principal,
                action: applies.action,
                path: applies.path,
                access_point: part.place.access_point,
                below: applies.below,
            };
            return match policy.effect {
                Effect::Deny => Ruling::Denied(Reason::new(false, cause)),
                Effect::Permit => Ruling::Permitted(Reason::new(true, cause)),
            };
        }
        Ruling::Silent(Reason::new(false, Cause::NoPolicy(policies.map(<[_]>::len))))
    }

    /// Splits an action into the parts to check. Returns `None` if the path or the destination is outside the
    /// area.
    fn parts<'a>(&'a self, how: How<'a>, path: &AccessPath) -> Option<Vec<Part<'a>>> {
        let part = |action: &Action, path: &AccessPath| {
            let place = self.locate(path)?;
            let policy_action = PolicyAction::of(action, &place.path);
            Some(Part { place, action: action.clone(), policy_action, circumstances: how.circumstances })
        };
        match how.action {
            // A rename is a copy and a removal (RFC 4918 section 9.9). It also needs the right to read, else
            // a client could move unreadable files to a path where it may read them.
            Action::Rename { to } => {
                let read = if path.is_directory() { Action::List } else { Action::Read };
                Some(vec![part(&Action::Delete, path)?, part(&Action::Create, to)?, part(&read, path)?])
            }
            action => Some(vec![part(action, path)?]),
        }
    }
}

fn by_scopes<'a>(scopes: &'a ScopeSet, action: &Action, path: AccessPath) -> Reason<'a> {
    match scopes.permits(action, &path) {
        Some(scope) => Reason::new(true, Cause::Scope(scope)),
        None => Reason::new(false, Cause::NoScope(scopes)),
    }
}
