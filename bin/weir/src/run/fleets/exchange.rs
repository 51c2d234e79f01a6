//! What is wished of a fleet, between machines: told to the store that has the lease, and heard from there.

use std::sync::Arc;
use std::time::{Duration, Instant};

use weir_config::plan::FleetPlan;
use weir_fleet::{Heard, SharedWish, Wish};

use super::desk::Desk;

/// With the others of a fleet, if there are any.
pub(super) struct Exchange {
    shared: Option<SharedWish>,
    desk: Arc<Desk>,
    last: Option<Instant>,
    has_failed: bool,
}

/// Between two looks, unless there is something to tell.
const PAUSE: Duration = Duration::from_secs(1);

impl Exchange {
    /// Nobody was asked yet.
    pub(super) fn new(plan: &FleetPlan, desk: &Arc<Desk>) -> Self {
        Self { shared: SharedWish::new(plan), desk: Arc::clone(desk), last: None, has_failed: false }
    }

    /// Tells and hears, if it is time for that; `now`: it is. Waits no longer than a quarter of what a lease lasts.
    pub(super) async fn look(&mut self, now: bool) {
        let Some(shared) = &mut self.shared else { return };
        let untold = self.desk.untold(false);
        let is_early = self.last.is_some_and(|last| last.elapsed() < PAUSE);
        if is_early && !now && (untold.is_none() || self.has_failed) {
            return;
        }
        self.last = Some(Instant::now());
        let outcome = match untold {
            Some(wish) => tell(shared, &self.desk, wish).await,
            None => hear(shared, &self.desk).await,
        };
        self.has_failed = outcome.is_err();
        self.desk.shared(outcome.err());
    }
}

async fn hear(shared: &mut SharedWish, desk: &Desk) -> Result<(), String> {
    match shared.look().await? {
        Heard::Same => Ok(()),
        Heard::Wish(wish) => {
            let kept = desk.heard(wish);
            if kept.is_err() {
                shared.forget();
            }
            kept
        }
        Heard::Nothing => match desk.untold(true) {
            Some(wish) => tell(shared, desk, wish).await,
            None => Ok(()),
        },
    }
}

async fn tell(shared: &mut SharedWish, desk: &Desk, wish: Wish) -> Result<(), String> {
    shared.tell(wish).await?;
    desk.told(wish)
}
