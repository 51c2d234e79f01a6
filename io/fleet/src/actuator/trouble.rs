//! Failures of a provider, with a pause for each kind of activity.

use std::time::Duration;

use tokio::time::Instant;

use crate::{Backoff, Failure, FailureKind};

/// Present failure of a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// Activity that fails.
    pub activity: Activity,
    /// Latest failure.
    pub failure: Failure,
    /// Failures in a row.
    pub failures: u32,
    /// Time until the next attempt; zero = the next opportunity.
    pub wait: Duration,
}

/// Kind of provider call. Each kind may fail while the others work, for example because of a quota, a missing
/// image or a failed service. Each kind therefore has its own pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Activity {
    /// Listing machines.
    Listing,
    /// Creating machines.
    Creating,
    /// Starting, stopping and deleting machines.
    Changing,
}

#[derive(Debug)]
pub(super) struct Troubles {
    since: Instant,
    listing: Waiting,
    creating: Waiting,
    changing: Waiting,
}

#[derive(Debug)]
struct Waiting {
    backoff: Backoff,
    last: Option<Failure>,
}

/// Limits of the pause after a failure, so short that the fleet recovers soon after the provider does.
const PAUSE_FIRST: Duration = Duration::from_secs(1);
const PAUSE_LONGEST: Duration = Duration::from_secs(60);

impl Troubles {
    pub(super) fn new() -> Self {
        let waiting = || Waiting { backoff: Backoff::new(PAUSE_FIRST, PAUSE_LONGEST), last: None };
        Self { since: Instant::now(), listing: waiting(), creating: waiting(), changing: waiting() }
    }

    /// Returns an error during a pause.
    pub(super) fn permit(&self, activity: Activity) -> Result<(), Failure> {
        let waiting = self.of(activity);
        let (Some(wait), Some(last)) = (waiting.backoff.wait(self.since.elapsed()), &waiting.last) else {
            return Ok(());
        };
        let message = format!("not tried for another {} ms after {last}", wait.as_millis());
        // An action that is not attempted has certainly no effect.
        let kind = if last.kind == FailureKind::Uncertain { FailureKind::Transient } else { last.kind };
        Err(Failure { retry_after: Some(wait), ..Failure::new(kind, message) })
    }

    /// Records the failures of actions that were executed together.
    pub(super) fn note<'a>(&mut self, activity: Activity, failures: impl Iterator<Item = &'a Failure>) {
        // Some failures concern a single machine instead of the provider: a missing machine, a state that
        // does not permit an action, or a permanent failure. These do not count. A creation concerns no
        // existing machine, so all its failures count except a missing machine.
        let counts = |kind| match kind {
            FailureKind::NotFound => false,
            FailureKind::Conflict => activity == Activity::Creating,
            FailureKind::Quota | FailureKind::Permanent => activity != Activity::Changing,
            FailureKind::Auth | FailureKind::Transient | FailureKind::Uncertain => true,
        };
        let now = self.since.elapsed();
        let waiting = match activity {
            Activity::Listing => &mut self.listing,
            Activity::Creating => &mut self.creating,
            Activity::Changing => &mut self.changing,
        };
        waiting.last = failures.filter(|failure| counts(failure.kind)).last().cloned();
        match &waiting.last {
            None => waiting.backoff.worked(),
            Some(failure) => waiting.backoff.failed(now, failure.retry_after),
        }
    }

    pub(super) fn shown(&self) -> Vec<Trouble> {
        let now = self.since.elapsed();
        let all = [Activity::Listing, Activity::Creating, Activity::Changing];
        let shown = all.into_iter().filter_map(|activity| {
            let waiting = self.of(activity);
            Some(Trouble {
                activity,
                failure: waiting.last.clone()?,
                failures: waiting.backoff.failures(),
                wait: waiting.backoff.wait(now).unwrap_or_default(),
            })
        });
        shown.collect()
    }

    fn of(&self, activity: Activity) -> &Waiting {
        match activity {
            Activity::Listing => &self.listing,
            Activity::Creating => &self.creating,
            Activity::Changing => &self.changing,
        }
    }
}
