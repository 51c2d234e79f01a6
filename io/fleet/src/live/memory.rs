use std::collections::HashMap;
use std::time::Duration;

use crate::{Backoff, Failure, FailureKind, Machine, MachineId};

/// What nobody but us knows of machines. It is lost with the process: then each begins as one that was just made.
#[derive(Debug, Default)]
pub(super) struct Memory(HashMap<MachineId, Seen>);

#[derive(Debug, Clone)]
pub(super) struct Seen {
    /// When it was ordered, woken, or first seen.
    pub(super) ordered: Duration,
    /// When its latest start began: that, or when a restart was first seen of one that had served.
    pub(super) begun: Duration,
    /// By us: then it is known how long it takes to start.
    pub(super) was_ordered: bool,
    /// It was woken, and not made.
    pub(super) woken: bool,
    /// It has not passed its checks since.
    pub(super) awaited: bool,
    /// It is made to be kept stopped.
    pub(super) for_standby: bool,
    /// Call under way.
    pub(super) asked: Option<Asked>,
    /// The provider has agreed to start it, and it has not been seen to run since.
    pub(super) start_accepted: bool,
    /// When the provider agreed to stop one that was made to be kept stopped.
    pub(super) stop_accepted: Option<Duration>,
    /// It was taken out to be stopped or deleted: it gets no requests until that is abandoned.
    pub(super) leaving: Option<Leaving>,
    /// The provider refuses now to start it or to let it go: for how long it is not asked again, and what it said.
    pub(super) refused: Option<(Backoff, String)>,
    pub(super) unhealthy_since: Option<Duration>,
    pub(super) shunned_since: Option<Duration>,
    pub(super) draining_since: Option<Duration>,
    /// The provider has failed with it, as of the last list.
    pub(super) failed: bool,
    /// When a list named it last; `None` = none has yet.
    pub(super) listed: Option<Duration>,
    /// When a list was seen first that leaves it out, as long as none has named it: answers may take longer than lists.
    pub(super) missed: Option<Duration>,
}

/// Kind of a provider call about a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    Start,
    /// Stop or delete.
    LetGo,
    /// Stop a new machine for standby.
    Park,
}

/// On its way out, as far as we are concerned.
#[derive(Debug, Clone, Copy)]
pub(super) struct Leaving {
    pub(super) since: Duration,
    /// When the provider has agreed.
    pub(super) accepted: Option<Duration>,
    /// It is deleted, and not only stopped.
    pub(super) for_good: bool,
}

/// A provider that has agreed to stop or delete a machine may list it as running for so long, and may leave out for so long one
/// that it has made.
const LISTED_MAX: Duration = Duration::from_secs(60);
/// A machine whose state does not permit something may be in that state for long (a rollout, a lock).
const REFUSED_FIRST: Duration = Duration::from_secs(1);
const REFUSED_LONGEST: Duration = Duration::from_secs(30);

impl Leaving {
    /// Nothing is to be done about it now.
    pub(super) fn is_under_way(self, now: Duration) -> bool {
        self.accepted.is_some_and(|at| now.saturating_sub(at) < LISTED_MAX)
    }
}

impl Memory {
    /// Taken out of the balancer, to be stopped or deleted.
    pub(super) fn leaves(&mut self, id: &MachineId, now: Duration, for_good: bool) {
        let seen = self.of(id, now);
        let since = seen.leaving.map_or(now, |leaving| leaving.since);
        seen.start_accepted = false;
        seen.leaving = Some(Leaving { since, accepted: None, for_good });
    }

    /// Notes that a call about a machine starts.
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

    /// Returns true if a call about the machine is under way.
    pub(super) fn is_asked(&self, id: &MachineId) -> bool {
        self.0.get(id).is_some_and(|seen| seen.asked.is_some())
    }

    /// Notes the provider's answer. Ignores machines that are forgotten.
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
                // A later start by another client has another duration.
                seen.was_ordered &= what != Some(Asked::Start);
                // A refusal that concerns one machine (its state, a quota) may last: backs off instead of asking at every look. Other
                // failures back off for the whole provider (`actuator::trouble`).
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

    /// Why the provider is not asked again yet; `None` = it may be.
    pub(super) fn refusal(&self, id: &MachineId, now: Duration) -> Option<&str> {
        let (backoff, why) = self.0.get(id)?.refused.as_ref()?;
        backoff.wait(now).map(|_| why.as_str())
    }

    /// It stays after all.
    pub(super) fn stays(&mut self, id: &MachineId) -> bool {
        self.0.get_mut(id).is_some_and(|seen| {
            seen.refused = None;
            seen.leaving.take().is_some()
        })
    }

    pub(super) fn of(&mut self, id: &MachineId, now: Duration) -> &mut Seen {
        self.0.entry(id.clone()).or_insert_with(|| Seen { was_ordered: false, ..Seen::ordered(now, false) })
    }

    /// Notes a machine that was ordered at `ordered`.
    pub(super) fn made(&mut self, id: &MachineId, ordered: Duration, for_standby: bool) {
        let before = self.0.get(id);
        let (listed, missed) = before.map_or((None, None), |before| (before.listed, before.missed));
        // A machine that was listed before the answer may get requests already.
        let for_standby = for_standby && listed.is_none();
        let leaving = before.and_then(|before| before.leaving);
        self.0.insert(
            id.clone(),
            Seen { for_standby, listed, missed, leaving, ..Seen::ordered(ordered, false) },
        );
    }

    /// Forgets what no list has named for long. `start_up`: how long a machine is expected to take until it serves.
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

    /// Machines that were made and that no list has named yet: whether they are made to be kept stopped.
    pub(super) fn unlisted(&self) -> impl Iterator<Item = bool> {
        self.0.values().filter(|seen| seen.listed.is_none()).map(|seen| seen.for_standby)
    }
}

impl Seen {
    /// The provider has agreed to stop it, and may list it as running for a while.
    pub(super) fn is_being_stopped(&self, now: Duration) -> bool {
        self.stop_accepted.is_some_and(|at| now.saturating_sub(at) < LISTED_MAX)
    }

    /// It starts or is not to be found in the balancer. One that has served does so anew, and has its whole time for it; what
    /// that takes says nothing about how long it takes to make or wake one.
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
