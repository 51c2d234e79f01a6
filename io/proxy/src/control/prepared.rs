use std::collections::HashMap;
use std::sync::Arc;

use weir_config::Plan;
use weir_config::diff::Change;

use super::names::{Answer, Resolver};
use super::parts::Parts;

/// A reload that can only succeed now: files are read, names asked for. Nothing has changed yet. Open the sockets that the
/// plan needs, then give it to [`Controller::commit`](super::Controller::commit), then adjust and close those that are open.
#[derive(Debug)]
pub struct Prepared {
    pub(super) plan: Plan,
    pub(super) parts: Parts,
    pub(super) resolver: Option<Resolver>,
    pub(super) names: HashMap<Arc<str>, Answer>,
}

/// What a reload did.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReloadOutcome {
    /// What differs from the plan before, as far as it matters to anybody.
    pub changes: Vec<Change>,
    /// What an operator should know: runtime changes that lost their object, settings that wait for a restart.
    pub notes: Vec<String>,
}

impl Prepared {
    /// The plan that is to be in force.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }
}
