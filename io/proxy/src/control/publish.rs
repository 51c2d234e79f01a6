use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::Controller;

/// After publishing, nothing is published for this many times as long as it took: when thousands of servers change at
/// once, workers are told often enough, and the control plane still gets to everything else.
const PAUSE_FACTOR: u32 = 5;
const PAUSE_MAX: Duration = Duration::from_millis(250);

impl Controller {
    /// Has workers told what has changed, at once unless very much has.
    pub(super) fn publish_soon(&self) {
        self.news.notify_one();
    }

    /// Tells workers what has changed.
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
