//! Replacement for Cedar policies in a build without the feature `cedar`. Its types have no values, so no
//! policy is ever evaluated.

use std::fmt;

use super::{Asked, CedarFault, CedarFile, Verdict};
use crate::identity::Identity;
use crate::rule::policy::Below;
use crate::{AccessPath, Action};

/// Reason why this build does not support Cedar policies; `None` = it does.
pub const MISSING: Option<&str> = Some(
    "this build of weir has no Cedar policies: build it with `make release`, or with the Cargo feature `cedar`",
);

/// The Cedar policies of an area; no value exists in this build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CedarPolicies {}

/// One policy; no value exists in this build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CedarPolicy {}

impl CedarPolicies {
    /// Rejects every file.
    ///
    /// # Errors
    /// If there is any file; the message is [`MISSING`].
    pub fn parse(files: &[CedarFile]) -> Result<(Self, Vec<CedarFault>), Vec<CedarFault>> {
        let fault = |file: &CedarFile| CedarFault {
            file: file.name.clone(),
            text: file.text.clone(),
            bytes: 0..0,
            message: MISSING.unwrap_or_default().to_owned(),
            label: String::new(),
            help: None,
        };
        Err(files.iter().map(fault).collect())
    }

    pub(in crate::rule) fn ask(&self, _: &Asked<'_>) -> Verdict<'_> {
        match *self {}
    }

    pub(in crate::rule) fn below(&self, _: &Identity, _: &Action, _: &str, _: &AccessPath) -> Below {
        match *self {}
    }

    /// Returns the number of policies.
    pub fn len(&self) -> usize {
        match *self {}
    }

    /// Returns true if there are no policies.
    pub fn is_empty(&self) -> bool {
        match *self {}
    }
}

impl fmt::Display for CedarPolicy {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {}
    }
}
