//! The task that checks one server.

use std::sync::Arc;

use tokio::time::sleep;
use weir_model::PoolName;

use crate::control::Controller;

/// A checked server. The uid distinguishes it from a later server in the same slot.
#[derive(Debug, Clone)]
pub(in crate::control) struct Target {
    pub(in crate::control) pool: PoolName,
    pub(in crate::control) slot: usize,
    pub(in crate::control) uid: u64,
}

/// Checks a server periodically, until the server is gone.
pub(in crate::control) async fn keep_checking(controller: Arc<Controller>, target: Target) {
    let Some(mut wait) = controller.first_check_wait(&target) else { return };
    loop {
        sleep(wait).await;
        // Too many checks at once would take descriptors that clients need.
        let Ok(permit) = controller.check_permits.acquire().await else { return };
        let Some(probe) = controller.probe(&target) else { return };
        // Boxed, so that a waiting task stays small: there may be 10,000.
        let result = Box::pin(probe.run()).await;
        drop(permit);
        match controller.check_done(&target, result) {
            Some(next) => wait = next,
            None => return,
        }
    }
}
