//! Pools that a reload has removed from the plan. Requests that began under the old plan finish there. Until
//! the last one ends, the pools keep their servers with all their checks.

use std::sync::{Arc, Weak};

use weir_model::PoolName;

use super::{PoolRecord, Records};
use crate::state::PoolState;

impl Records {
    /// Returns the pools of the plan, and the removed pools that are still in use.
    pub(in crate::control) fn pools_in_use(&self) -> impl Iterator<Item = &PoolRecord> {
        self.pools.iter().chain(&self.retiring)
    }

    /// Returns the same pools, mutable.
    pub(in crate::control) fn pools_in_use_mut(&mut self) -> impl Iterator<Item = &mut PoolRecord> {
        self.pools.iter_mut().chain(&mut self.retiring)
    }

    /// Returns the pool of that name, in the plan or still in use. There is at most one: see
    /// [`Records::enforce`].
    pub(in crate::control) fn pool_in_use_mut(&mut self, name: &PoolName) -> Option<&mut PoolRecord> {
        match self.pool_index.get(name) {
            Some(index) => self.pools.get_mut(*index),
            None => self.retiring.iter_mut().find(|pool| pool.name == *name),
        }
    }

    /// Releases pools that are no longer in use and returns their names. Must be called regularly.
    pub(in crate::control) fn retire(&mut self) -> Vec<PoolName> {
        let Self { retiring, names, .. } = self;
        let mut gone = Vec::new();
        retiring.retain(|pool| {
            if pool.is_in_use() {
                return true;
            }
            for server in pool.members.iter() {
                names.leave(&server.spec.spec.address, server.state.uid);
            }
            gone.push(pool.name.clone());
            false
        });
        names.forget_unused();
        gone
    }
}

impl PoolRecord {
    /// Returns true if the pool has a user besides the control plane: a plan that a worker uses, or a
    /// request.
    fn is_in_use(&self) -> bool {
        let former: usize = self.former.iter().map(Weak::<PoolState>::strong_count).sum();
        Arc::strong_count(&self.shared) + former > 1
    }
}
