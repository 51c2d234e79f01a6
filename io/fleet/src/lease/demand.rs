//! Past demand in the store of a fleet's lease, from which the next leader on any machine makes its
//! forecasts.

use weir_config::plan::FleetPlan;
use weir_scale::DemandLog;

use super::key::Key;

/// Key with the demand; the leader writes it.
#[derive(Debug)]
pub struct SharedDemand {
    key: Key,
}

impl SharedDemand {
    /// Creates the key; sends no request yet. `None` = the fleet has no lease in a store, so all candidates
    /// share a directory.
    pub fn new(plan: &FleetPlan) -> Option<Self> {
        Some(Self { key: Key::beside_lease(plan, "demand")? })
    }

    /// Adds the stored demand until `now_s` (seconds since 1970) to `log`. The inner result is an error if
    /// the stored text is invalid. Takes at most a quarter of the lease's duration.
    ///
    /// # Errors
    /// If the store does not answer or refuses the request.
    pub async fn hear(&mut self, log: &mut DemandLog, now_s: i64) -> Result<Result<(), String>, String> {
        let understood = self.key.get().await?.map_or(Ok(()), |text| log.add(&text, now_s));
        Ok(understood.map_err(|why| self.key.wrong(why)))
    }

    /// Stores the demand. Takes at most a quarter of the lease's duration.
    ///
    /// # Errors
    /// If the store does not confirm the write, which may still have taken effect.
    pub async fn tell(&mut self, log: &DemandLog) -> Result<(), String> {
        self.key.put(&log.to_string()).await
    }
}
