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

/// Allowed or denied, and why. Printed, the first line says what decided; indented ones what else was looked at.
#[derive(Debug, Clone)]
pub struct Decision<'a> {
    /// Who asked.
    pub identity: &'a Identity,
    /// For what.
    pub action: &'a Action,
    /// Where.
    pub path: &'a AccessPath,
    /// What decided.
    pub reason: Reason<'a>,
}

/// One finding and those that it rests on.
#[derive(Debug, Clone)]
pub struct Reason<'a> {
    /// Whether it speaks for the request.
    pub allows: bool,
    /// What was found.
    pub cause: Cause<'a>,
    /// What it rests on.
    pub parts: Vec<Reason<'a>>,
}

/// What was found.
#[derive(Debug, Clone)]
pub enum Cause<'a> {
    /// The path is not in the area.
    OutsideArea {
        /// The area's name.
        area: &'a str,
    },
    /// A policy applies.
    Policy {
        /// The area's name.
        area: &'a str,
        /// Its place, from 1.
        number: usize,
        /// The policy.
        policy: &'a Policy,
        /// Which of its principals.
        principal: &'a Principal,
        /// Which of its actions.
        action: PolicyAction,
        /// Which of its paths.
        path: &'a PathGlob,
        /// Where the area is.
        access_point: &'a AccessPath,
        /// It protects something below the path.
        below: bool,
    },
    /// No policy applies, of so many; `None` if they are off.
    NoPolicy(Option<usize>),
    /// A Cedar policy applies, or might.
    Cedar {
        /// The area's name.
        area: &'a str,
        /// The policy.
        policy: &'a CedarPolicy,
        /// It is a `permit`.
        allows: bool,
        /// Why nobody can say whether it applies.
        error: Option<String>,
    },
    /// No Cedar policy applies, of so many.
    NoCedarPolicy(usize),
    /// Cedar policies cannot be asked at all.
    CedarFailed {
        /// The area's name.
        area: &'a str,
        /// Why.
        error: String,
    },
    /// Cedar policies have not been read.
    CedarUnread {
        /// The area's name.
        area: &'a str,
    },
    /// No policy of either kind applies.
    NoRule,
    /// A switch of the area grants it.
    Switch {
        /// The area's name.
        area: &'a str,
        /// Which.
        grant: Grant<'a>,
    },
    /// No switch does.
    NoSwitch,
    /// Neither policy nor switch permits it.
    Nothing {
        /// The area's name.
        area: &'a str,
        /// The action.
        action: PolicyAction,
    },
    /// A scope permits it.
    Scope(&'a StorageScope),
    /// No scope of the token permits it.
    NoScope(&'a ScopeSet),
    /// The path is not where the issuer's scopes begin.
    OutsideScopeBase {
        /// Where they begin.
        base: &'a AccessPath,
    },
    /// Scopes grant nothing here.
    ScopesOff {
        /// The area's name.
        area: &'a str,
    },
    /// The token's issuer is not one of the area's.
    IssuerNotListed {
        /// The area's name.
        area: &'a str,
        /// The issuer.
        issuer: &'a str,
    },
    /// All parts of a rename, or both a rule and a scope, are needed.
    All,
    /// What the holder of an own token may do.
    Holder,
}

impl Decision<'_> {
    /// Whether the request may go on.
    pub fn allowed(&self) -> bool {
        self.reason.allows
    }

    /// The first line alone.
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

    /// All must allow; one alone speaks for itself.
    pub(super) fn all(mut parts: Vec<Self>) -> Self {
        match parts.iter().position(|part| !part.allows) {
            // What denies is what decided: the others are no part of the reason.
            Some(at) => parts.swap_remove(at),
            None if parts.len() == 1 => parts.swap_remove(0),
            None => Self::with(true, Cause::All, parts),
        }
    }

    /// The finding that decided, below the headings above it.
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
