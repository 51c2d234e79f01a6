//! What demand was, in the store that has a fleet's lease: what forecasts of whoever leads next go by, on whatever machine that is.

use weir_config::plan::FleetPlan;
use weir_scale::DemandLog;

use super::key::Key;

/// The key in which it stands. Who leads writes it.
#[derive(Debug)]
pub struct SharedDemand {
    key: Key,
}

impl SharedDemand {
    /// `None` = the fleet has no lease in a store: all who may lead it share a directory. Nobody is asked yet.
    pub fn new(plan: &FleetPlan) -> Option<Self> {
        Some(Self { key: Key::beside_lease(plan, "demand")? })
    }

    /// Takes in what stands there of the time until `now_s` (seconds since 1970). Returns whether that could be understood; if not, why.
    /// Waits no longer than a quarter of what a lease lasts.
    ///
    /// # Errors
    /// The store cannot be asked.
    pub async fn hear(&mut self, log: &mut DemandLog, now_s: i64) -> Result<Result<(), String>, String> {
        let understood = self.key.get().await?.map_or(Ok(()), |text| log.add(&text, now_s));
        Ok(understood.map_err(|why| self.key.wrong(why)))
    }

    /// Writes down what is known. Waits no longer than a quarter of what a lease lasts.
    ///
    /// # Errors
    /// The store cannot be told: it may have heard it all the same.
    pub async fn tell(&mut self, log: &DemandLog) -> Result<(), String> {
        self.key.put(&log.to_string()).await
    }
}
