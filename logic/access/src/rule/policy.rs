//! Policies: the fine-grained, ordered rules of a storage area.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::glob::PathGlob;
use super::principal::Principal;
use crate::identity::Identity;
use crate::{AccessPath, Action};

/// Effect of a policy that applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// Allows the action.
    Permit,
    /// Denies the action.
    Deny,
}

/// Actions that a policy covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PolicyAction {
    /// Listing a directory, reading its metadata, or querying where a file is stored.
    List,
    /// Reading bytes and metadata of a file, or staging it; with Delete, renaming from this path.
    Read,
    /// Creating or overwriting a file, making a directory, or renaming to this path.
    Write,
    /// Deleting; with Read (for a directory: List), renaming from this path.
    Delete,
    /// All of these actions.
    All,
}

/// One fine-grained rule of an area.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// Name of the policy in reasons.
    pub description: String,
    /// Effect when the policy applies.
    pub effect: Effect,
    /// Actions that the policy covers; not empty.
    pub actions: Vec<PolicyAction>,
    /// Path patterns, relative to the root of the area; not empty.
    pub paths: Vec<PathGlob>,
    /// Principals that the policy covers; not empty.
    pub principals: Vec<Principal>,
}

/// The parts of a policy that match a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Applies<'a> {
    pub(super) principal: &'a Principal,
    pub(super) path: &'a PathGlob,
    pub(super) action: PolicyAction,
    /// Set when the pattern does not match the path itself but may match something below it.
    pub(super) below: bool,
}

/// Effect of a policy on a path and everything below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Below {
    /// The policy permits all of it.
    PermitsAll,
    /// The policy denies at least a part of it.
    DeniesSome,
    /// The policy decides nothing that holds for all of it.
    Nothing,
}

impl PolicyAction {
    /// Returns the policy action that covers `action` on `path`. The caller splits a rename into its parts.
    pub(super) fn of(action: &Action, path: &AccessPath) -> Self {
        match action {
            Action::Stat if path.is_directory() => Self::List,
            Action::List | Action::Poll => Self::List,
            Action::Read | Action::Stat | Action::Stage => Self::Read,
            Action::Create | Action::MakeDirectory | Action::Overwrite => Self::Write,
            Action::Delete | Action::Rename { .. } => Self::Delete,
        }
    }
}

impl Policy {
    /// Returns the matching parts if the policy applies to an action on a path. The path is relative to the
    /// area's root.
    pub(super) fn applies(
        &self,
        identity: &Identity,
        action: PolicyAction,
        path: &AccessPath,
    ) -> Option<Applies<'_>> {
        let action_here = *self.actions.iter().find(|a| **a == action || **a == PolicyAction::All)?;
        let principal = self.principals.iter().find(|principal| principal.admits(identity))?;
        let found = |path, below| Applies { principal, path, action: action_here, below };
        if let Some(glob) = self.paths.iter().find(|glob| glob.fits(path)) {
            return Some(found(glob, false));
        }
        // A client that may not delete /a/raw must not delete or move /a either.
        let takes_along = action == PolicyAction::Delete && self.effect == Effect::Deny;
        let glob = self.paths.iter().find(|glob| takes_along && glob.may_fit_below(path))?;
        Some(found(glob, true))
    }

    /// Returns the effect on an action on a path and everything below it. The path is relative to the area's
    /// root.
    pub(super) fn below(&self, identity: &Identity, action: PolicyAction, path: &AccessPath) -> Below {
        let is_about = self.actions.iter().any(|a| *a == action || *a == PolicyAction::All);
        if !is_about || !self.principals.iter().any(|principal| principal.admits(identity)) {
            return Below::Nothing;
        }
        match self.effect {
            Effect::Permit if self.paths.iter().any(|glob| glob.fits_all_below(path)) => Below::PermitsAll,
            Effect::Deny if self.paths.iter().any(|glob| glob.fits(path) || glob.may_fit_below(path)) => {
                Below::DeniesSome
            }
            _ => Below::Nothing,
        }
    }
}

impl fmt::Display for PolicyAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::List => "list",
            Self::Read => "read",
            Self::Write => "write",
            Self::Delete => "delete",
            Self::All => "everything",
        })
    }
}
