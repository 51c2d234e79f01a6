//! Finds listeners that were added, removed or changed.

use weir_http::Action;

use super::Change;
use crate::Plan;
use crate::common::named::Named;
use crate::listener::diff::changed_parts;
use crate::plan::{ListenerPlan, Mode, PoolPlan};

pub(super) fn diff(old: &Plan, new: &Plan, changes: &mut Vec<Change>) {
    let named = Named::new(&old.listeners, &new.listeners, |listener| &listener.name);
    let pools = PoolsMoved::new(&old.pools, &new.pools);
    changes.extend(named.removed.into_iter().cloned().map(Change::ListenerRemoved));
    for (old, new) in named.kept {
        let parts = changed_parts(&pools.moved(old), new);
        if !parts.is_empty() {
            changes.push(Change::ListenerChanged { listener: Box::new(new.clone()), parts });
        }
    }
    changes.extend(named.added.into_iter().cloned().map(Box::new).map(Change::ListenerAdded));
    changes.extend(named.order.map(Change::ListenersReordered));
}

/// Maps the pool indices of one plan to those of another.
pub(super) struct PoolsMoved {
    /// New index by old index; `usize::MAX` = removed.
    places: Vec<usize>,
}

impl PoolsMoved {
    pub(super) fn new(old: &[PoolPlan], new: &[PoolPlan]) -> Self {
        let places: std::collections::HashMap<_, _> =
            new.iter().enumerate().map(|(place, pool)| (&pool.name, place)).collect();
        let place = |pool: &PoolPlan| places.get(&pool.name).copied().unwrap_or(usize::MAX);
        Self { places: old.iter().map(place).collect() }
    }

    /// Returns the listener with the pool indices of the new plan.
    pub(super) fn moved(&self, listener: &ListenerPlan) -> ListenerPlan {
        let mut listener = listener.clone();
        let place = |pool: &mut usize| *pool = self.places.get(*pool).copied().unwrap_or(usize::MAX);
        match &mut listener.mode {
            Mode::Http(http) => {
                for route in &mut http.routes {
                    if let Action::Pool(pool) = &mut route.action {
                        place(pool);
                    }
                }
            }
            Mode::Tcp(tcp) => {
                tcp.sni_routes.iter_mut().map(|route| &mut route.pool).chain(&mut tcp.pool).for_each(place);
            }
        }
        listener
    }
}
