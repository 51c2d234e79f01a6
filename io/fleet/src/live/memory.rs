//! Memory of a fleet's machines between rounds.

use std::collections::HashMap;
use std::time::Duration;

use crate::{Backoff, Failure, FailureKind, Machine, MachineId};

/// Information about machines that only this process has. It is lost with the process; each machine then
/// counts as just created.
#[derive(Debug, Default)]
pub(super) struct Memory(HashMap<MachineId, Seen>);

#[derive(Debug, Clone)]
pub(super) struct Seen {
    /// Time at which the machine was ordered, started, or first seen.
    pub(super) ordered: Duration,
    /// Beginning of the latest start: `ordered`, or the time at which a restart was first seen.
    pub(super) begun: Duration,
    /// True if this process ordered the machine, so that the duration of its start is known.
    pub(super) was_ordered: bool,
    /// True if a stopped machine was started, false if it was created.
    pub(super) woken: bool,
    /// True until the health checks pass after the latest start.
    pub(super) awaited: bool,
    /// True if the machine is created to be kept stopped.
    pub(super) for_standby: bool,
    /// Call in progress.
    pub(super) asked: Option<Asked>,
    /// True if the provider has accepted a start, and the machine was not seen running since.
    pub(super) start_accepted: bool,
    /// Time at which the provider accepted to stop a machine that was created to be kept stopped.
    pub(super) stop_accepted: Option<Duration>,
    /// Removal in progress: the machine gets no requests until the removal is cancelled.
    pub(super) leaving: Option<Leaving>,
    /// Refusal of the provider to start or remove the machine: the pause before the next attempt, and the
    /// message.
    pub(super) refused: Option<(Backoff, String)>,
    pub(super) unhealthy_since: Option<Duration>,
    pub(super) shunned_since: Option<Duration>,
    pub(super) draining_since: Option<Duration>,
    /// True if the latest list shows the machine as failed.
    pub(super) failed: bool,
    /// Time of the last list that names the machine; `None` = none yet.
    pub(super) listed: Option<Duration>,
    /// Time of the first list that omits the machine, while no list has named it. An answer may arrive after
    /// a newer list.
    pub(super) missed: Option<Duration>,
}

/// Kind of a provider call for a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    Start,
    /// Stop or delete.
    LetGo,
    /// Stop a new machine for standby.
    Park,
}

/// Removal of a machine, as planned by this process.
#[derive(Debug, Clone, Copy)]
pub(super) struct Leaving {
    pub(super) since: Duration,
    /// Time at which the provider accepted the removal.
    pub(super) accepted: Option<Duration>,
    /// True for deletion, false for a stop.
    pub(super) for_good: bool,
}

/// Maximum time for which a list may be outdated: it may show a stopped or deleted machine as running, or
/// omit a new one.
const LISTED_MAX: Duration = Duration::from_secs(60);
/// Limits of the pause after a refusal; the state that causes it may last (a rollout, a lock).
const REFUSED_FIRST: Duration = Duration::from_secs(1);
const REFUSED_LONGEST: Duration = Duration::from_secs(30);

impl Leaving {
    /// Returns true if the provider has recently accepted the removal, so that no action is necessary.
    pub(super) fn is_under_way(self, now: Duration) -> bool {
        self.accepted.is_some_and(|at| now.saturating_sub(at) < LISTED_MAX)
    }
}

impl Memory {
    /// Records that a machine was removed from the load balancer, to be stopped or deleted.
    pub(super) fn leaves(&mut self, id: &MachineId, now: Duration, for_good: bool) {
        let seen = self.of(id, now);
        let since = seen.leaving.map_or(now, |leaving| leaving.since);
        seen.start_accepted = false;
        seen.leaving = Some(Leaving { since, accepted: None, for_good });
    }

    /// Records that a call for a machine starts.
    pub(super) fn asks(&mut self, id: &MachineId, now: Duration, what: Asked) {
        let seen = self.of(id, now);
        seen.asked = Some(what);
        if what == Asked::Start {
            let before = seen.clone();
            *seen = Seen {
                asked: before.asked,
                refused: before.refused,
                listed: before.listed,
                missed: before.missed,
                ..Seen::ordered(now, true)
            };
        }
    }

    /// Returns true if a call for the machine is in progress.
    pub(super) fn is_asked(&self, id: &MachineId) -> bool {
        self.0.get(id).is_some_and(|seen| seen.asked.is_some())
    }

    /// Records the provider's answer. Ignores forgotten machines.
    pub(super) fn is_answered(&mut self, id: &MachineId, now: Duration, result: &Result<(), Failure>) {
        let Some(seen) = self.0.get_mut(id) else { return };
        match (result, seen.asked.take()) {
            (Ok(()), what) => {
                seen.refused = None;
                match what {
                    Some(Asked::Start) => seen.start_accepted = true,
                    Some(Asked::Park) => seen.stop_accepted = Some(now),
                    Some(Asked::LetGo) | None => {
                        if let Some(leaving) = &mut seen.leaving {
                            leaving.accepted = Some(now);
                        }
                    }
                }
            }
            (Err(why), what) => {
                // A later start by another client has an unknown duration.
                seen.was_ordered &= what != Some(Asked::Start);
                // A refusal that concerns one machine (its state, a quota) may last, so further attempts
                // pause. Other failures cause a pause for the whole provider (`actuator::trouble`).
                let is_about_one = matches!(
                    why.kind,
                    FailureKind::Conflict
                        | FailureKind::NotFound
                        | FailureKind::Quota
                        | FailureKind::Permanent
                );
                if is_about_one {
                    let new = || (Backoff::new(REFUSED_FIRST, REFUSED_LONGEST), String::new());
                    let (backoff, said) = seen.refused.get_or_insert_with(new);
                    backoff.failed(now, None);
                    *said = why.to_string();
                }
            }
        }
    }

    /// Returns the reason for a pause; `None` = an attempt is permitted.
    pub(super) fn refusal(&self, id: &MachineId, now: Duration) -> Option<&str> {
        let (backoff, why) = self.0.get(id)?.refused.as_ref()?;
        backoff.wait(now).map(|_| why.as_str())
    }

    /// Cancels the removal of a machine. Returns true if there was one.
    pub(super) fn stays(&mut self, id: &MachineId) -> bool {
        self.0.get_mut(id).is_some_and(|seen| {
            seen.refused = None;
            seen.leaving.take().is_some()
        })
    }

    pub(super) fn of(&mut self, id: &MachineId, now: Duration) -> &mut Seen {
        self.0.entry(id.clone()).or_insert_with(|| Seen { was_ordered: false, ..Seen::ordered(now, false) })
    }

    /// Records a new machine that was ordered at `ordered`.
    pub(super) fn made(&mut self, id: &MachineId, ordered: Duration, for_standby: bool) {
        let before = self.0.get(id);
        let (listed, missed) = before.map_or((None, None), |before| (before.listed, before.missed));
        // A machine that was listed before the answer may already have requests.
        let for_standby = for_standby && listed.is_none();
        let leaving = before.and_then(|before| before.leaving);
        self.0.insert(
            id.clone(),
            Seen { for_standby, listed, missed, leaving, ..Seen::ordered(ordered, false) },
        );
    }

    /// Records a list, and forgets machines that no list has named for long. `start_up` is the expected
    /// start-up time of a machine.
    pub(super) fn are_listed(&mut self, now: Duration, machines: &[Machine], start_up: Duration) {
        for machine in machines {
            self.of(&machine.id, now).listed = Some(now);
        }
        let unlisted_max = LISTED_MAX.max(start_up.saturating_mul(2));
        self.0.retain(|_, seen| match seen.listed {
            Some(at) => now.saturating_sub(at) < LISTED_MAX,
            None => now.saturating_sub(*seen.missed.get_or_insert(now)) < unlisted_max,
        });
    }

    /// Returns a flag for each created machine that no list has named yet: true if it is created to be kept
    /// stopped.
    pub(super) fn unlisted(&self) -> impl Iterator<Item = bool> {
        self.0.values().filter(|seen| seen.listed.is_none()).map(|seen| seen.for_standby)
    }
}

impl Seen {
    /// Returns true if the provider has recently accepted to stop the machine; lists may still show it as
    /// running.
    pub(super) fn is_being_stopped(&self, now: Duration) -> bool {
        self.stop_accepted.is_some_and(|at| now.saturating_sub(at) < LISTED_MAX)
    }

    /// Records that a machine starts, or is missing from the load balancer. A machine that had served gets
    /// the full start-up time again. The duration of such a restart does not count as a start-up time.
    pub(super) fn starts(&mut self, now: Duration) {
        if self.awaited {
            return;
        }
        (self.begun, self.awaited, self.was_ordered) = (now, true, false);
        self.unhealthy_since = None;
    }

    fn ordered(now: Duration, woken: bool) -> Self {
        Self {
            ordered: now,
            begun: now,
            was_ordered: true,
            woken,
            awaited: true,
            for_standby: false,
            asked: None,
            start_accepted: false,
            stop_accepted: None,
            leaving: None,
            refused: None,
            unhealthy_since: None,
            shunned_since: None,
            draining_since: None,
            failed: false,
            listed: None,
            missed: None,
        }
    }
}
