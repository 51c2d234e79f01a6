//! Slow start: raises the weights of servers that have come up, in steps.

use std::sync::Arc;

use tokio::time::{Instant, sleep_until};

use super::Controller;

/// Publishes new rosters when weights rise: once per step and pool, whatever the number of rising servers.
pub(super) async fn keep_raising(controller: Arc<Controller>) {
    loop {
        match controller.next_rise() {
            None => controller.rises.notified().await,
            Some(at) => {
                tokio::select! {
                    () = sleep_until(at) => controller.raise(),
                    () = controller.rises.notified() => {}
                }
            }
        }
    }
}

impl Controller {
    fn next_rise(&self) -> Option<Instant> {
        self.records().pools_in_use().filter_map(|pool| pool.rises_at()).min()
    }

    fn raise(&self) {
        let now = Instant::now();
        let mut records = self.records();
        let due = records.pools_in_use_mut().filter(|pool| pool.rises_at().is_some_and(|at| at <= now));
        due.for_each(|pool| pool.publish(now));
    }
}
