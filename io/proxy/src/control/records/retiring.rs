//! Pools that a reload has taken out of the plan. Whoever began under a plan that had them finishes there: until the last
//! one has left they keep their servers, with all that watches over these.

use std::sync::{Arc, Weak};

use weir_model::PoolName;

use super::{PoolRecord, Records};
use crate::state::PoolState;

impl Records {
    /// The pools of the plan, and those that only requests of before still use.
    pub(in crate::control) fn pools_in_use(&self) -> impl Iterator<Item = &PoolRecord> {
        self.pools.iter().chain(&self.retiring)
    }

    /// The same, to change them.
    pub(in crate::control) fn pools_in_use_mut(&mut self) -> impl Iterator<Item = &mut PoolRecord> {
        self.pools.iter_mut().chain(&mut self.retiring)
    }

    /// The pool of a name, be it in the plan or only still used. There is one at most: see [`Records::enforce`].
    pub(in crate::control) fn pool_in_use_mut(&mut self, name: &PoolName) -> Option<&mut PoolRecord> {
        match self.pool_index.get(name) {
            Some(index) => self.pools.get_mut(*index),
            None => self.retiring.iter_mut().find(|pool| pool.name == *name),
        }
    }

    /// Lets go of pools that nobody uses any more, and says which these were. To be called now and then.
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
    /// Whether anybody but the control plane has it: a plan that a worker goes by, or a request.
    fn is_in_use(&self) -> bool {
        let former: usize = self.former.iter().map(Weak::<PoolState>::strong_count).sum();
        Arc::strong_count(&self.shared) + former > 1
    }
}
