//! A further key in the store of a fleet's lease, for processes on other machines and the next leader.

use tokio::time::error::Elapsed;
use tokio::time::timeout;
use weir_config::plan::{FleetPlan, LeaseStorePlan};

use super::store::{Store, late, patience, place};

/// A key that does not expire. The last write wins.
#[derive(Debug)]
pub(super) struct Key {
    /// The plan of the lease, with another key.
    plan: LeaseStorePlan,
    store: Store,
}

impl Key {
    /// Creates the key with the lease's key, a slash and `name`; sends no request yet. `None` = the fleet has
    /// no lease in a store.
    pub(super) fn beside_lease(plan: &FleetPlan, name: &str) -> Option<Self> {
        let mut plan = plan.lease.store()?.clone();
        let store = Store::new(&plan);
        plan.key.push('/');
        plan.key.push_str(name);
        Some(Self { plan, store })
    }

    /// Reads the value; `None` = there is none. Takes at most a quarter of the lease's duration.
    pub(super) async fn get(&mut self) -> Result<Option<String>, String> {
        let asked = timeout(patience(&self.plan), self.store.get(&self.plan.key)).await;
        self.answered(asked)
    }

    /// Writes the value. Takes at most a quarter of the lease's duration. A failed write may still have taken
    /// effect.
    pub(super) async fn put(&mut self, value: &str) -> Result<(), String> {
        let told = timeout(patience(&self.plan), self.store.put(&self.plan.key, value)).await;
        self.answered(told)
    }

    /// Returns an error message about the stored value.
    pub(super) fn wrong(&self, what: impl std::fmt::Display) -> String {
        format!("{}: {what}", place(&self.plan))
    }

    fn answered<T>(&mut self, answer: Result<Result<T, String>, Elapsed>) -> Result<T, String> {
        let answer = answer.unwrap_or_else(|_| Err(late(&self.plan)));
        if answer.is_err() {
            // A late answer on this connection would belong to another request.
            self.store.disconnect();
        }
        answer
    }
}
