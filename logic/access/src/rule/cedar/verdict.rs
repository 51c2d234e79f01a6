use super::CedarPolicy;
use crate::identity::Identity;
use crate::rule::Circumstances;
use crate::{AccessPath, Action};

/// What policies are asked. A rename is asked for in its parts.
#[derive(Debug, Clone, Copy)]
pub(in crate::rule) struct Asked<'a> {
    pub(in crate::rule) identity: &'a Identity,
    pub(in crate::rule) action: &'a Action,
    pub(in crate::rule) area: &'a str,
    /// From the root of the area.
    pub(in crate::rule) path: &'a AccessPath,
    pub(in crate::rule) circumstances: &'a Circumstances,
}

/// What they say.
#[derive(Debug)]
pub(in crate::rule) enum Verdict<'p> {
    /// One of them forbids it; with an error, because nobody can say whether it would.
    Forbids(&'p CedarPolicy, Option<String>),
    /// One of them permits it, and none forbids it.
    Permits(&'p CedarPolicy),
    /// None of them applies. These would perhaps have permitted it, but cannot be evaluated.
    Silent(Vec<(&'p CedarPolicy, String)>),
    /// They cannot be asked.
    Failed(String),
}
