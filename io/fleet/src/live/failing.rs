//! Machines that fail before they have served: no more are made for a while, the longer the more often that happens.

use std::time::Duration;

use weir_scale::{Action, Alarm, Decision, Successor};

use crate::Backoff;

/// How machines that were made or woken have done lately.
#[derive(Debug)]
pub(super) struct Failing(Backoff);

/// What is wrong with one machine is hardly wrong with the next; what is wrong with an image takes somebody to mend it.
const PAUSE_FIRST: Duration = Duration::from_secs(5);
const PAUSE_LONGEST: Duration = Duration::from_secs(300);

impl Default for Failing {
    fn default() -> Self {
        Self(Backoff::new(PAUSE_FIRST, PAUSE_LONGEST))
    }
}

impl Failing {
    /// One has failed. Those that fail during a pause were ordered before it, and make it no longer.
    pub(super) fn failed(&mut self, now: Duration) {
        if self.0.wait(now).is_none() {
            self.0.failed(now, None);
        }
    }

    /// One serves.
    pub(super) fn served(&mut self) {
        self.0.worked();
    }

    /// Takes out of a decision what would make machines, as long as the pause lasts, and says so.
    pub(super) fn hold_back(&self, now: Duration, decision: &mut Decision) {
        let Some(wait) = self.0.wait(now) else { return };
        // One that is ill stays too: nobody would come in its place.
        decision.actions.retain(|action| !makes(action));
        decision.alarms.push(Alarm::Withheld { failures: self.0.failures(), wait });
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
