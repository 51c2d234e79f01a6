use std::sync::Arc;

use tokio::time::sleep;

use crate::control::Controller;
use crate::control::checks::Target;

/// Asks a server's agent again and again, until one of them is gone.
pub(super) async fn keep_asking(controller: Arc<Controller>, target: Target) {
    loop {
        // As for checks: too many at a time would use up the descriptors that clients need.
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
