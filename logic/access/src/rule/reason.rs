//! Decisions with their reasons, as text for people.

use std::fmt;

use super::cedar::CedarPolicy;
use super::glob::PathGlob;
use super::policy::{Effect, Policy, PolicyAction};
use super::principal::Principal;
use super::switches::Grant;
use crate::identity::Identity;
use crate::text::Printable;
use crate::wlcg::{ScopeSet, StorageScope};
use crate::{AccessPath, Action};

/// A decision and its reason. Printed, the first line gives the cause, and the indented lines give the other
/// findings.
#[derive(Debug, Clone)]
pub struct Decision<'a> {
    /// Identity of the client.
    pub identity: &'a Identity,
    /// Requested action.
    pub action: &'a Action,
    /// Path of the action.
    pub path: &'a AccessPath,
    /// Reason for the decision.
    pub reason: Reason<'a>,
}

/// One finding and the findings that it is based on.
#[derive(Debug, Clone)]
pub struct Reason<'a> {
    /// True if the finding allows the request.
    pub allows: bool,
    /// Content of the finding.
    pub cause: Cause<'a>,
    /// Findings that this one is based on.
    pub parts: Vec<Reason<'a>>,
}

/// Content of a finding.
#[derive(Debug, Clone)]
pub enum Cause<'a> {
    /// The path is not in the area.
    OutsideArea {
        /// Name of the area.
        area: &'a str,
    },
    /// A policy applies.
    Policy {
        /// Name of the area.
        area: &'a str,
        /// Position of the policy in the area, from 1.
        number: usize,
        /// Policy that applies.
        policy: &'a Policy,
        /// Principal of the policy that matches.
        principal: &'a Principal,
        /// Action of the policy that matches.
        action: PolicyAction,
        /// Path pattern of the policy that matches.
        path: &'a PathGlob,
        /// Access point of the area.
        access_point: &'a AccessPath,
        /// Set when the policy protects something below the path.
        below: bool,
    },
    /// None of this many policies applies; `None` = policies are off.
    NoPolicy(Option<usize>),
    /// A Cedar policy applies, or cannot be evaluated.
    Cedar {
        /// Name of the area.
        area: &'a str,
        /// Policy that applies.
        policy: &'a CedarPolicy,
        /// True for a `permit`, false for a `forbid`.
        allows: bool,
        /// Error of the evaluation, if the policy cannot be evaluated.
        error: Option<String>,
    },
    /// None of this many Cedar policies applies.
    NoCedarPolicy(usize),
    /// The Cedar policies cannot be evaluated for this request.
    CedarFailed {
        /// Name of the area.
        area: &'a str,
        /// Cause of the failure.
        error: String,
    },
    /// The Cedar policies have not been read.
    CedarUnread {
        /// Name of the area.
        area: &'a str,
    },
    /// No policy of either kind applies.
    NoRule,
    /// A switch of the area grants the action.
    Switch {
        /// Name of the area.
        area: &'a str,
        /// Switch that grants the action.
        grant: Grant<'a>,
    },
    /// No switch grants the action.
    NoSwitch,
    /// Neither a policy nor a switch permits the action.
    Nothing {
        /// Name of the area.
        area: &'a str,
        /// Action that is not permitted.
        action: PolicyAction,
    },
    /// A scope of the token permits the action.
    Scope(&'a StorageScope),
    /// No scope of the token permits the action.
    NoScope(&'a ScopeSet),
    /// The path is not below the base path of the issuer's scopes.
    OutsideScopeBase {
        /// Base path of the issuer's scopes.
        base: &'a AccessPath,
    },
    /// Scopes grant nothing in this area.
    ScopesOff {
        /// Name of the area.
        area: &'a str,
    },
    /// The area does not list the token's issuer.
    IssuerNotListed {
        /// Name of the area.
        area: &'a str,
        /// Issuer of the token.
        issuer: &'a str,
    },
    /// All required findings allow: all parts of a rename, or both a rule and a scope.
    All,
    /// The holder of one of Weir's own tokens may perform the action.
    Holder,
}

impl Decision<'_> {
    /// Returns true if the request is allowed.
    pub fn allowed(&self) -> bool {
        self.reason.allows
    }

    /// Returns only the first line.
    pub fn headline(&self) -> String {
        self.to_string().lines().next().unwrap_or_default().to_owned()
    }
}

impl<'a> Reason<'a> {
    pub(super) fn new(allows: bool, cause: Cause<'a>) -> Self {
        Self { allows, cause, parts: Vec::new() }
    }

    pub(super) fn with(allows: bool, cause: Cause<'a>, parts: Vec<Self>) -> Self {
        Self { allows, cause, parts }
    }

    /// Combines findings that must all allow. A single finding is returned unchanged.
    pub(super) fn all(mut parts: Vec<Self>) -> Self {
        match parts.iter().position(|part| !part.allows) {
            // The first finding that denies is the whole reason.
            Some(at) => parts.swap_remove(at),
            None if parts.len() == 1 => parts.swap_remove(0),
            None => Self::with(true, Cause::All, parts),
        }
    }

    /// Writes the finding and, indented, those that it is based on.
    fn write(&self, f: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
        write!(f, "\n{:indent$}{}", "", self.cause, indent = depth * 2)?;
        self.parts.iter().try_for_each(|part| part.write(f, depth + 1))
    }
}

impl fmt::Display for Decision<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = if self.allowed() { "allowed" } else { "denied" };
        write!(f, "{verdict}: {}", self.reason.cause)?;
        let path = self.path.to_string();
        match self.action {
            Action::Rename { to } => {
                let to = to.to_string();
                write!(
                    f,
                    "\n  asked: rename {} to {} by {}",
                    Printable(&path),
                    Printable(&to),
                    self.identity
                )?;
            }
            action => write!(f, "\n  asked: {action} {} by {}", Printable(&path), self.identity)?,
        }
        self.reason.parts.iter().try_for_each(|part| part.write(f, 1))
    }
}

impl fmt::Display for Cause<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutsideArea { area } => write!(f, "the path is not in area '{area}'"),
            Self::Policy { area, number, policy, principal, action, path, access_point, below } => {
                let effect = if policy.effect == Effect::Permit { "permits" } else { "denies" };
                let description = &policy.description;
                write!(
                    f,
                    "policy '{description}' ({}{} of area '{area}') {effect} {action} ",
                    number,
                    ordinal(*number)
                )?;
                path.describe(access_point, f)?;
                write!(f, " to {principal}")?;
                if *below { f.write_str(", which may lie below what was asked for") } else { Ok(()) }
            }
            Self::NoPolicy(None) => f.write_str("policies are off"),
            Self::NoPolicy(Some(0)) => f.write_str("there are no policies"),
            Self::NoPolicy(Some(1)) => f.write_str("the only policy does not apply"),
            Self::NoPolicy(Some(count)) => write!(f, "none of {count} policies applies"),
            Self::Cedar { area, policy, allows, error } => {
                let verb = if *allows { "permits" } else { "forbids" };
                match error {
                    None => write!(f, "{policy} {verb} it in area '{area}'"),
                    Some(error) if *allows => {
                        write!(f, "{policy} permits nothing, as it cannot be evaluated: {}", Printable(error))
                    }
                    Some(error) => write!(
                        f,
                        "{policy} may forbid it in area '{area}', as it cannot be evaluated: {}",
                        Printable(error)
                    ),
                }
            }
            Self::NoCedarPolicy(0) => f.write_str("there are no Cedar policies"),
            Self::NoCedarPolicy(1) => f.write_str("the only Cedar policy does not apply"),
            Self::NoCedarPolicy(count) => write!(f, "none of {count} Cedar policies applies"),
            Self::CedarFailed { area, error } => {
                write!(f, "the Cedar policies of area '{area}' cannot be asked: {}", Printable(error))
            }
            Self::CedarUnread { area } => write!(f, "the Cedar policies of area '{area}' have not been read"),
            Self::NoRule => f.write_str("no policy applies"),
            Self::Switch { area, grant } => write!(f, "area '{area}' {grant}"),
            Self::NoSwitch => f.write_str("no switch of the area grants it"),
            Self::Nothing { area, action } => write!(f, "nothing in area '{area}' permits {action}"),
            Self::Scope(scope) => write!(f, "scope {scope} permits it"),
            Self::NoScope(scopes) => write!(f, "no scope of the token permits it; it has: {scopes}"),
            Self::OutsideScopeBase { base } => write!(f, "the scopes of the token's issuer begin at {base}"),
            Self::ScopesOff { area } => {
                write!(f, "scopes grant nothing in area '{area}' (token-scopes), but they limit the token")
            }
            Self::IssuerNotListed { area, issuer } => {
                write!(f, "issuer {issuer} is not among the issuers of area '{area}'")
            }
            Self::All => f.write_str("everything that is needed allows it"),
            Self::Holder => f.write_str("the holder of the token may do it"),
        }
    }
}

fn ordinal(number: usize) -> &'static str {
    match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    }
}
