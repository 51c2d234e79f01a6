//! The task that checks one agent.

use std::sync::Arc;

use tokio::time::sleep;

use crate::control::Controller;
use crate::control::checks::Target;

/// Checks a server's agent periodically, until the server or its agent is gone.
pub(super) async fn keep_asking(controller: Arc<Controller>, target: Target) {
    loop {
        // The limit is shared with health checks: too many checks at once would take descriptors that clients
        // need.
        let Ok(permit) = controller.check_permits.acquire().await else { return };
        let Some(question) = controller.question(&target) else { return };
        let answer = Box::pin(question.ask()).await;
        drop(permit);
        match controller.agent_answered(&target, answer) {
            Some(wait) => sleep(wait).await,
            None => return,
        }
    }
}
