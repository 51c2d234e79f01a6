//! What is wished of a fleet, in the store that has its lease: for those on other machines, and whoever leads next.

use tokio::time::error::Elapsed;
use tokio::time::timeout;
use weir_config::plan::{FleetPlan, LeaseStorePlan};

use super::store::{Store, late, patience, place};
use crate::Wish;

/// The key in which it stands, beside that of the lease. Whoever writes last is right.
#[derive(Debug)]
pub struct SharedWish {
    /// That of the lease, but for the key.
    plan: LeaseStorePlan,
    store: Store,
    /// What stood there last.
    seen: Option<String>,
}

/// What the store has said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// The same as the last time.
    Same,
    /// Nothing: nobody has ever wished anything, or the store has lost it.
    Nothing,
    /// What somebody wishes.
    Wish(Wish),
}

impl SharedWish {
    /// `None` = the fleet has no lease in a store: all who may lead it share a directory. Nobody is asked yet.
    pub fn new(plan: &FleetPlan) -> Option<Self> {
        let mut plan = plan.lease.store()?.clone();
        let store = Store::new(&plan);
        plan.key.push_str("/wish");
        Some(Self { plan, store, seen: None })
    }

    /// Asks what is wished. Waits no longer than a quarter of what a lease lasts.
    ///
    /// # Errors
    /// The store cannot be asked, or what stands there is no wish; names the key.
    pub async fn look(&mut self) -> Result<Heard, String> {
        let asked = timeout(patience(&self.plan), self.store.get(&self.plan.key)).await;
        let Some(value) = self.answered(asked)? else {
            self.seen = None;
            return Ok(Heard::Nothing);
        };
        if self.seen.as_ref() == Some(&value) {
            return Ok(Heard::Same);
        }
        let wish = serde_json::from_str(&value).map_err(|cause| format!("{}: {cause}", place(&self.plan)))?;
        self.seen = Some(value);
        Ok(Heard::Wish(wish))
    }

    /// Says what is wished. Waits no longer than a quarter of what a lease lasts.
    ///
    /// # Errors
    /// The store cannot be told: it may have heard it all the same.
    pub async fn tell(&mut self, wish: Wish) -> Result<(), String> {
        let value = serde_json::to_string(&wish).map_err(|cause| cause.to_string())?;
        let told = timeout(patience(&self.plan), self.store.put(&self.plan.key, &value)).await;
        self.answered(told)?;
        self.seen = Some(value);
        Ok(())
    }

    /// What was heard last could not be kept: the next look tells it again.
    pub fn forget(&mut self) {
        self.seen = None;
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
