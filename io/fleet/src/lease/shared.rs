//! What is wished of a fleet, in the store that has its lease: for those on other machines, and whoever leads next.

use weir_config::plan::FleetPlan;

use super::key::Key;
use crate::Wish;

/// The key in which it stands, beside that of the lease. Whoever writes last is right.
#[derive(Debug)]
pub struct SharedWish {
    key: Key,
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
        Some(Self { key: Key::beside_lease(plan, "wish")?, seen: None })
    }

    /// Asks what is wished. Waits no longer than a quarter of what a lease lasts.
    ///
    /// # Errors
    /// The store cannot be asked, or what stands there is no wish; names the key.
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

    /// Says what is wished. Waits no longer than a quarter of what a lease lasts.
    ///
    /// # Errors
    /// The store cannot be told: it may have heard it all the same.
    pub async fn tell(&mut self, wish: Wish) -> Result<(), String> {
        let value = serde_json::to_string(&wish).map_err(|cause| cause.to_string())?;
        self.key.put(&value).await?;
        self.seen = Some(value);
        Ok(())
    }

    /// What was heard last could not be kept: the next look tells it again.
    pub fn forget(&mut self) {
        self.seen = None;
    }
}
