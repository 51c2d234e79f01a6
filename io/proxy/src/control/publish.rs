//! Publishes changed pools to workers.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::Controller;

/// Pause after publishing, as a multiple of the time that publishing took. If thousands of servers change at
/// once, the control plane still has time for its other work.
const PAUSE_FACTOR: u32 = 5;
const PAUSE_MAX: Duration = Duration::from_millis(250);

impl Controller {
    /// Schedules publication of the changes: at once, unless many changes came before.
    pub(super) fn publish_soon(&self) {
        self.news.notify_one();
    }

    /// Publishes all changed pools to workers.
    pub(super) fn publish_news(&self) {
        let now = Instant::now();
        let mut records = self.records();
        for pool in records.pools_in_use_mut().filter(|pool| pool.is_stale()) {
            pool.publish(now);
        }
        self.rises.notify_one();
    }
}

pub(super) async fn keep_publishing(controller: Arc<Controller>) {
    loop {
        controller.news.notified().await;
        let started = std::time::Instant::now();
        controller.publish_news();
        sleep((started.elapsed() * PAUSE_FACTOR).min(PAUSE_MAX)).await;
    }
}
