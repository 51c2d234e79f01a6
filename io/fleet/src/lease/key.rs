//! A key in the store that has a fleet's lease, beside that of the lease: for those on other machines, and whoever leads next.

use tokio::time::error::Elapsed;
use tokio::time::timeout;
use weir_config::plan::{FleetPlan, LeaseStorePlan};

use super::store::{Store, late, patience, place};

/// A key that stays. Whoever writes last is right.
#[derive(Debug)]
pub(super) struct Key {
    /// That of the lease, but for the key.
    plan: LeaseStorePlan,
    store: Store,
}

impl Key {
    /// That of the lease, a slash and the name. `None` = the fleet has no lease in a store. Nobody is asked yet.
    pub(super) fn beside_lease(plan: &FleetPlan, name: &str) -> Option<Self> {
        let mut plan = plan.lease.store()?.clone();
        let store = Store::new(&plan);
        plan.key.push('/');
        plan.key.push_str(name);
        Some(Self { plan, store })
    }

    /// What stands in it; `None` = nothing. Waits no longer than a quarter of what a lease lasts.
    pub(super) async fn get(&mut self) -> Result<Option<String>, String> {
        let asked = timeout(patience(&self.plan), self.store.get(&self.plan.key)).await;
        self.answered(asked)
    }

    /// Writes it. Waits no longer than a quarter of what a lease lasts. One that fails may have been heard all the same.
    pub(super) async fn put(&mut self, value: &str) -> Result<(), String> {
        let told = timeout(patience(&self.plan), self.store.put(&self.plan.key, value)).await;
        self.answered(told)
    }

    /// What is wrong with what stands in it, for people.
    pub(super) fn wrong(&self, what: impl std::fmt::Display) -> String {
        format!("{}: {what}", place(&self.plan))
    }

    fn answered<T>(&mut self, answer: Result<Result<T, String>, Elapsed>) -> Result<T, String> {
        let answer = answer.unwrap_or_else(|_| Err(late(&self.plan)));
        if answer.is_err() {
            // What comes over it later may be the answer to something else.
            self.store.disconnect();
        }
        answer
    }
}
