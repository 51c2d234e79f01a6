//! The desired state in the store of a fleet's lease, for processes on other machines and the next leader.

use weir_config::plan::FleetPlan;

use super::key::Key;
use crate::Wish;

/// Key with the desired state, next to that of the lease. The last write wins.
#[derive(Debug)]
pub struct SharedWish {
    key: Key,
    /// Value of the last read or write.
    seen: Option<String>,
}

/// Result of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// The same value as before.
    Same,
    /// No value: no operator has set one, or the store has lost it.
    Nothing,
    /// The desired state.
    Wish(Wish),
}

impl SharedWish {
    /// Creates the key; sends no request yet. `None` = the fleet has no lease in a store, so all candidates
    /// share a directory.
    pub fn new(plan: &FleetPlan) -> Option<Self> {
        Some(Self { key: Key::beside_lease(plan, "wish")?, seen: None })
    }

    /// Reads the desired state. Takes at most a quarter of the lease's duration.
    ///
    /// # Errors
    /// If the store does not answer, or if the value is invalid. Names the key.
    pub async fn look(&mut self) -> Result<Heard, String> {
        let Some(value) = self.key.get().await? else {
            self.seen = None;
            return Ok(Heard::Nothing);
        };
        if self.seen.as_ref() == Some(&value) {
            return Ok(Heard::Same);
        }
        let wish = serde_json::from_str(&value).map_err(|cause| self.key.wrong(cause))?;
        self.seen = Some(value);
        Ok(Heard::Wish(wish))
    }

    /// Stores the desired state. Takes at most a quarter of the lease's duration.
    ///
    /// # Errors
    /// If the store does not confirm the write, which may still have taken effect.
    pub async fn tell(&mut self, wish: Wish) -> Result<(), String> {
        let value = serde_json::to_string(&wish).map_err(|cause| cause.to_string())?;
        self.key.put(&value).await?;
        self.seen = Some(value);
        Ok(())
    }

    /// Forgets the last value because it could not be saved locally, so that the next read returns it again.
    pub fn forget(&mut self) {
        self.seen = None;
    }
}
