//! Machines that fail before they have served: no more are made for a while, the longer the more often that happens.

use std::time::Duration;

use weir_model::ServerName;
use weir_scale::{Action, Alarm, Decision, Server, ServerState, StartFailure, Successor};

use crate::Backoff;

/// How machines that were made or woken have done lately.
#[derive(Debug)]
pub(super) struct Failing {
    backoff: Backoff,
    /// Why the last one has.
    cause: StartFailure,
}

/// What is wrong with one machine is hardly wrong with the next; what is wrong with an image takes somebody to mend it.
const PAUSE_FIRST: Duration = Duration::from_secs(5);
const PAUSE_LONGEST: Duration = Duration::from_secs(300);

impl Default for Failing {
    fn default() -> Self {
        Self { backoff: Backoff::new(PAUSE_FIRST, PAUSE_LONGEST), cause: StartFailure::Provider }
    }
}

impl Failing {
    /// One has failed. Those that fail during a pause were ordered before it, and make it no longer.
    pub(super) fn failed(&mut self, now: Duration, cause: StartFailure) {
        self.cause = cause;
        if self.backoff.wait(now).is_none() {
            self.backoff.failed(now, None);
        }
    }

    /// How many have in a row, those during a pause counted once.
    pub(super) fn failures(&self) -> u32 {
        self.backoff.failures()
    }

    /// One serves.
    pub(super) fn served(&mut self) {
        self.backoff.worked();
    }

    /// Takes out of a decision what would make machines, as long as the pause lasts, and says so.
    pub(super) fn hold_back(&self, now: Duration, decision: &mut Decision, servers: &[Server]) {
        let Some(wait) = self.backoff.wait(now) else { return };
        let has_served = |name: &ServerName| {
            let found = servers.iter().find(|server| server.name == *name);
            found.is_some_and(|server| matches!(server.state, ServerState::Unhealthy { .. }))
        };
        for action in &mut decision.actions {
            // One that has never served is of no use: it goes although none comes in its place.
            if let Action::Replace { server, by: by @ Successor::Created(_), .. } = action
                && !has_served(server)
            {
                *by = Successor::Nobody;
            }
        }
        // One that is ill stays: none would come in its place, and it may get well.
        decision.actions.retain(|action| !makes(action));
        let (cause, failures) = (self.cause, self.backoff.failures());
        decision.alarms.push(Alarm::Withheld { cause, failures, wait });
    }
}

/// Takes out of a decision what would make machines, as long as somebody who led before may have begun to, and says so.
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
