//! Exchanges the desired state of a fleet between machines, through the store that holds the lease.

use std::sync::Arc;
use std::time::{Duration, Instant};

use weir_config::plan::FleetPlan;
use weir_fleet::{Heard, SharedWish};

use super::desk::Desk;

/// Exchange with the other machines of a fleet, if there are any.
pub(super) struct Exchange {
    shared: Option<SharedWish>,
    desk: Arc<Desk>,
    last: Option<Instant>,
    /// Minimum time until the next exchange.
    pause: Duration,
    has_failed: bool,
}

/// Time between two exchanges, unless there is a change to send or the store does not answer.
const PAUSE: Duration = Duration::from_secs(1);

impl Exchange {
    /// Creates an exchange; sends no request yet.
    pub(super) fn new(plan: &FleetPlan, desk: &Arc<Desk>) -> Self {
        let shared = SharedWish::new(plan);
        Self { shared, desk: Arc::clone(desk), last: None, pause: PAUSE, has_failed: false }
    }

    /// Receives and sends the desired state if an exchange is due. `now`: it is due because this machine
    /// begins to lead. Waits at most half of the lease duration.
    pub(super) async fn look(&mut self, now: bool) {
        let Some(shared) = &mut self.shared else { return };
        let is_early = self.last.is_some_and(|last| last.elapsed() < self.pause);
        if is_early && !now && (self.has_failed || self.desk.untold(false).is_none()) {
            return;
        }
        if now {
            self.desk.ask_anew();
        }
        let began = Instant::now();
        let outcome = exchange(shared, &self.desk).await;
        self.has_failed = outcome.is_err();
        // A fleet that does not act before the first answer loses nothing by the wait, so it keeps the short
        // pause.
        self.pause = pause_after(self.has_failed && self.desk.has_heard(), began.elapsed());
        self.last = Some(Instant::now());
        self.desk.shared(outcome.err());
    }
}

/// Returns the pause before the next exchange. The leader waits for the answer, so with a store that hangs it
/// spends at most a tenth of its time on that.
fn pause_after(is_sparing: bool, took: Duration) -> Duration {
    if is_sparing { PAUSE.max(took * 10) } else { PAUSE }
}

/// Receives before it sends: a value that was not changed here is sent back as received.
async fn exchange(shared: &mut SharedWish, desk: &Desk) -> Result<(), String> {
    let heard = shared.look().await?;
    let kept = match heard {
        Heard::Wish(wish) => desk.heard(wish),
        Heard::Same | Heard::Nothing => Ok(()),
    };
    if kept.is_err() {
        shared.forget();
    }
    if let Some(wish) = desk.untold(heard == Heard::Nothing) {
        shared.tell(wish).await?;
        desk.told(wish)?;
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_that_hangs_is_asked_less_often_and_one_that_refuses_as_often_as_one_that_answers() {
        let seconds = Duration::from_secs;
        assert_eq!(pause_after(true, seconds(2)), seconds(20));
        assert_eq!(pause_after(true, Duration::from_millis(1)), PAUSE);
        assert_eq!(pause_after(false, seconds(2)), PAUSE);
    }
}
