use std::collections::HashMap;
use std::sync::Arc;

use weir_config::Plan;
use weir_config::plan::{ListenerPlan, Mode};
use weir_model::{BindAddress, ListenerName};

use super::names::{Answer, Resolver};
use super::parts::Parts;

/// A reload that can only succeed now: files are read, names asked for. Nothing has changed yet. Open the sockets of
/// [`Prepared::opens`], then give it to [`Controller::commit`](super::Controller::commit), then close those of
/// [`Prepared::closes`].
#[derive(Debug)]
pub struct Prepared {
    pub(super) plan: Plan,
    pub(super) parts: Parts,
    pub(super) resolver: Option<Resolver>,
    pub(super) names: HashMap<Arc<str>, Answer>,
    pub(super) opens: Vec<Bind>,
    pub(super) closes: Vec<Bind>,
}

/// A listening socket of a listener.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Bind {
    /// The listener.
    pub listener: ListenerName,
    /// One of its addresses, as the plan has it.
    pub address: BindAddress,
}

/// What a reload did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReloadOutcome {
    /// What an operator should know: runtime changes that lost their object, settings that wait for a restart.
    pub notes: Vec<String>,
}

impl Prepared {
    /// The plan that is to be in force.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Sockets that the new plan has and the old one has not. One whose options have changed is in `closes`, too: TCP
    /// sockets of one address can be open side by side.
    pub fn opens(&self) -> &[Bind] {
        &self.opens
    }

    /// Sockets that the old plan has and the new one has not.
    pub fn closes(&self) -> &[Bind] {
        &self.closes
    }
}

/// Sockets to open and to close, to get from one plan to the other.
pub(super) fn bind_changes(before: &[ListenerPlan], after: &[ListenerPlan]) -> (Vec<Bind>, Vec<Bind>) {
    let (before, after) = (binds(before), binds(after));
    let missing = |from: &HashMap<Bind, Options>, to: &HashMap<Bind, Options>| {
        let mut missing: Vec<Bind> = to
            .iter()
            .filter(|(bind, options)| from.get(bind) != Some(options))
            .map(|(bind, _)| bind.clone())
            .collect();
        missing.sort_by_key(|bind| (bind.listener.clone(), bind.address.to_string()));
        missing
    };
    (missing(&before, &after), missing(&after, &before))
}

/// What a socket is opened with and cannot be changed later.
#[derive(Debug, PartialEq, Eq)]
struct Options {
    backlog: u32,
    waits_for_data: bool,
}

fn binds(listeners: &[ListenerPlan]) -> HashMap<Bind, Options> {
    let each = listeners.iter().flat_map(|listener| {
        listener.bind.iter().map(|address| {
            let bind = Bind { listener: listener.name.clone(), address: address.clone() };
            (bind, Options::of(listener, address))
        })
    });
    each.collect()
}

impl Options {
    fn of(listener: &ListenerPlan, address: &BindAddress) -> Self {
        match address {
            BindAddress::Inet(_) => {
                Self { backlog: listener.backlog, waits_for_data: matches!(listener.mode, Mode::Http(_)) }
            }
            // Only one socket can have the path: it stays open, as it is.
            BindAddress::Unix(_) => Self { backlog: 0, waits_for_data: false },
        }
    }
}
