//! Queries to Cedar policies and their results.

use super::CedarPolicy;
use crate::identity::Identity;
use crate::rule::Circumstances;
use crate::{AccessPath, Action};

/// One query to Cedar policies. The caller splits a rename into its parts.
#[derive(Debug, Clone, Copy)]
pub(in crate::rule) struct Asked<'a> {
    pub(in crate::rule) identity: &'a Identity,
    pub(in crate::rule) action: &'a Action,
    pub(in crate::rule) area: &'a str,
    /// Path relative to the root of the area.
    pub(in crate::rule) path: &'a AccessPath,
    pub(in crate::rule) circumstances: &'a Circumstances,
}

/// Result of a query.
#[derive(Debug)]
pub(in crate::rule) enum Verdict<'p> {
    /// A policy forbids the request, or a `forbid` policy cannot be evaluated; the text is the error.
    Forbids(&'p CedarPolicy, Option<String>),
    /// A policy permits the request, and none forbids it.
    Permits(&'p CedarPolicy),
    /// No policy applies. The listed `permit` policies cannot be evaluated.
    Silent(Vec<(&'p CedarPolicy, String)>),
    /// The policies cannot be evaluated.
    Failed(String),
}
