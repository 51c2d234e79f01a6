//! Pause between creations while machines fail before they serve. The pause grows with each failure.

use std::time::Duration;

use weir_model::ServerName;
use weir_scale::{Action, Alarm, Decision, Server, ServerState, StartFailure, Successor};

use crate::Backoff;

/// Recent failures of created and started machines.
#[derive(Debug)]
pub(super) struct Failing {
    backoff: Backoff,
    /// Cause of the last failure.
    cause: StartFailure,
}

/// Limits of the pause. A problem of a single machine hardly affects the next one, but an invalid image needs
/// an operator.
const PAUSE_FIRST: Duration = Duration::from_secs(5);
const PAUSE_LONGEST: Duration = Duration::from_secs(300);

impl Default for Failing {
    fn default() -> Self {
        Self { backoff: Backoff::new(PAUSE_FIRST, PAUSE_LONGEST), cause: StartFailure::Provider }
    }
}

impl Failing {
    /// Records a failure. A machine that fails during a pause was ordered before it, and does not extend the
    /// pause.
    pub(super) fn failed(&mut self, now: Duration, cause: StartFailure) {
        self.cause = cause;
        if self.backoff.wait(now).is_none() {
            self.backoff.failed(now, None);
        }
    }

    /// Returns the number of failures in a row; those during a pause count once.
    pub(super) fn failures(&self) -> u32 {
        self.backoff.failures()
    }

    /// Records that a machine serves.
    pub(super) fn served(&mut self) {
        self.backoff.worked();
    }

    /// Removes the creations from a decision during the pause, and adds an alarm.
    pub(super) fn hold_back(&self, now: Duration, decision: &mut Decision, servers: &[Server]) {
        let Some(wait) = self.backoff.wait(now) else { return };
        let has_served = |name: &ServerName| {
            let found = servers.iter().find(|server| server.name == *name);
            found.is_some_and(|server| matches!(server.state, ServerState::Unhealthy { .. }))
        };
        for action in &mut decision.actions {
            // A machine that never served is useless, so it is deleted without a successor.
            if let Action::Replace { server, by: by @ Successor::Created(_), .. } = action
                && !has_served(server)
            {
                *by = Successor::Nobody;
            }
        }
        // An unhealthy machine stays: it would get no successor, and may recover.
        decision.actions.retain(|action| !makes(action));
        let (cause, failures) = (self.cause, self.backoff.failures());
        decision.alarms.push(Alarm::Withheld { cause, failures, wait });
    }
}

/// Removes the creations from a decision while a former leader's creations may be in progress, and extends
/// the reason.
pub(super) fn wait_for_others(wait: Option<Duration>, decision: &mut Decision) {
    let Some(wait) = wait else { return };
    decision.actions.retain(|action| !makes(action));
    let seconds = wait.as_secs() + 1;
    decision.reason = format!(
        "{}; none is made for another {seconds} s: whoever led before may have begun to",
        decision.reason
    );
}

fn makes(action: &Action) -> bool {
    matches!(action, Action::Create { .. } | Action::Replace { by: Successor::Created(_), .. })
}
