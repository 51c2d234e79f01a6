use std::sync::Arc;

use tokio::time::sleep;
use weir_model::PoolName;

use crate::control::Controller;

/// Which server is checked. The uid tells it from one that came to its slot later.
#[derive(Debug, Clone)]
pub(in crate::control) struct Target {
    pub(in crate::control) pool: PoolName,
    pub(in crate::control) slot: usize,
    pub(in crate::control) uid: u64,
}

/// Checks a server again and again, until it is gone.
pub(in crate::control) async fn keep_checking(controller: Arc<Controller>, target: Target) {
    let Some(mut wait) = controller.first_check_wait(&target) else { return };
    loop {
        sleep(wait).await;
        // Too many at a time would use up the descriptors that clients need.
        let Ok(permit) = controller.check_permits.acquire().await else { return };
        let Some(probe) = controller.probe(&target) else { return };
        // In a box, so that a waiting task is small: there may be 10,000.
        let result = Box::pin(probe.run()).await;
        drop(permit);
        match controller.check_done(&target, result) {
            Some(next) => wait = next,
            None => return,
        }
    }
}
