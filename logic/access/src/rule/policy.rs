use std::fmt;

use serde::{Deserialize, Serialize};

use super::glob::PathGlob;
use super::principal::Principal;
use crate::identity::Identity;
use crate::{AccessPath, Action};

/// What a policy does when it applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// Allows.
    Permit,
    /// Denies.
    Deny,
}

/// What a policy is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PolicyAction {
    /// Names in a directory, metadata of a directory, where a file is.
    List,
    /// Bytes and metadata of a file, staging; with Delete, be the source of a rename.
    Read,
    /// Create, overwrite, make a directory, be the destination of a rename.
    Write,
    /// Delete; with Read (of a directory: List), be the source of a rename.
    Delete,
    /// All of these.
    All,
}

/// One fine-grained rule of an area.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Policy {
    /// What reasons call it.
    pub description: String,
    /// What it does.
    pub effect: Effect,
    /// To what; not empty.
    pub actions: Vec<PolicyAction>,
    /// Where, from the root of the area; not empty.
    pub paths: Vec<PathGlob>,
    /// To whom; not empty.
    pub principals: Vec<Principal>,
}

/// Which parts of a policy apply to a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Applies<'a> {
    pub(super) principal: &'a Principal,
    pub(super) path: &'a PathGlob,
    pub(super) action: PolicyAction,
    /// The path itself does not fit, but what is below it may.
    pub(super) below: bool,
}

/// What a policy says of a path with everything below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Below {
    /// It permits all of it.
    PermitsAll,
    /// It denies some of it, or all.
    DeniesSome,
    /// Nothing that holds for all of it.
    Nothing,
}

impl PolicyAction {
    /// What it takes for `action` on `path`. A rename is asked for in its parts.
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
    /// How it applies to an action on a path, relative to the area's root, if it does.
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
        // Who may not delete /a/raw must not delete or move /a either.
        let takes_along = action == PolicyAction::Delete && self.effect == Effect::Deny;
        let glob = self.paths.iter().find(|glob| takes_along && glob.may_fit_below(path))?;
        Some(found(glob, true))
    }

    /// What it says of an action on a path and everything below it, relative to the area's root.
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
