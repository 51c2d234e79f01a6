//! A build without the feature `cedar`: there is no value of these types, so no policy is ever asked.

use std::fmt;

use super::{Asked, CedarFault, CedarFile, Verdict};
use crate::identity::Identity;
use crate::rule::policy::Below;
use crate::{AccessPath, Action};

/// Why this build has no Cedar policies; `None` = it has.
pub const MISSING: Option<&str> = Some(
    "this build of weir has no Cedar policies: build it with `make release`, or with the Cargo feature `cedar`",
);

/// The Cedar policies of an area. This build has none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CedarPolicies {}

/// One policy. This build has none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CedarPolicy {}

impl CedarPolicies {
    /// Refuses every file.
    ///
    /// # Errors
    /// Always: see [`MISSING`].
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

    /// How many there are.
    pub fn len(&self) -> usize {
        match *self {}
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        match *self {}
    }
}

impl fmt::Display for CedarPolicy {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {}
    }
}
