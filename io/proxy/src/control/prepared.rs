//! A prepared reload and its outcome.

use std::collections::HashMap;
use std::sync::Arc;

use weir_config::Plan;
use weir_config::diff::Change;

use super::names::{Answer, Resolver};
use super::parts::Parts;

/// A reload that can no longer fail: its files are read and its names looked up. Nothing has changed yet.
/// Steps for the caller:
/// 1. Open the sockets that the plan needs.
/// 2. Pass the reload to [`Controller::commit`](super::Controller::commit).
/// 3. Adjust the sockets that stay open, and close the others.
#[derive(Debug)]
pub struct Prepared {
    pub(super) plan: Plan,
    pub(super) parts: Parts,
    pub(super) resolver: Option<Resolver>,
    pub(super) names: HashMap<Arc<str>, Answer>,
}

/// Effect of a reload.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReloadOutcome {
    /// Differences from the previous plan that matter to an operator.
    pub changes: Vec<Change>,
    /// Notes for the operator: runtime changes that no longer apply, settings that need a restart.
    pub notes: Vec<String>,
}

impl Prepared {
    /// Returns the new plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }
}
