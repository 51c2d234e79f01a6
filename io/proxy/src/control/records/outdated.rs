//! Outdated views of pools.

use std::sync::Arc;

use crate::state::PoolView;

/// Outdated pool views that a worker may still use. The control plane frees them: with ten thousand servers
/// that takes too long for a worker that releases the last reference during a request.
#[derive(Debug, Default)]
pub(in crate::control) struct Outdated(Vec<Arc<PoolView>>);

impl Outdated {
    /// Adds a view that has been replaced.
    pub(super) fn add(&mut self, view: Arc<PoolView>) {
        self.let_go();
        self.0.push(view);
    }

    /// Frees the views that have no other user. Must be called regularly.
    pub(in crate::control) fn let_go(&mut self) {
        // A pool from before a reload has its own views of the same roster.
        self.0.retain(|view| Arc::strong_count(view) > 1 || Arc::strong_count(&view.roster) > 1);
    }
}

#[cfg(test)]
mod tests {
    use weir_balance::{Algorithm, Roster};

    use super::*;

    fn view() -> Arc<PoolView> {
        let roster = Arc::new(Roster::new(Algorithm::RoundRobin, Vec::new(), None));
        Arc::new(PoolView { roster, servers: Arc::default() })
    }

    #[test]
    fn a_view_is_not_taken_apart_by_the_last_worker_that_goes_by_it() {
        let mut outdated = Outdated::default();
        let (one_of_workers, other_pools) = (view(), view());
        let roster = Arc::clone(&other_pools.roster);
        let of = [&one_of_workers, &other_pools].map(|view| Arc::downgrade(&view.roster));
        outdated.add(Arc::clone(&one_of_workers));
        outdated.add(other_pools);
        outdated.let_go();
        drop((one_of_workers, roster));
        assert!(of.iter().all(|roster| roster.upgrade().is_some()), "whoever turns away only says so");
        outdated.let_go();
        assert!(of.iter().all(|roster| roster.upgrade().is_none()));
    }

    #[test]
    fn however_often_something_changes_only_what_is_in_use_is_kept() {
        let mut outdated = Outdated::default();
        let in_use = view();
        outdated.add(Arc::clone(&in_use));
        (0..100).for_each(|_| outdated.add(view()));
        assert!(outdated.0.len() <= 2);
    }
}
