use std::time::Duration;

use tokio::time::Instant;

use crate::{Backoff, Failure, FailureKind};

/// What is wrong with a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// What does not work.
    pub activity: Activity,
    /// The last failure.
    pub failure: Failure,
    /// How many there have been in a row.
    pub failures: u32,
    /// It is tried again after this; zero = with the next occasion.
    pub wait: Duration,
}

/// What a provider is asked for. Each may fail while the others work (a quota, an image that is gone, one service of several
/// that is down), so each waits by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Activity {
    /// To tell which machines there are.
    Listing,
    /// To create machines.
    Creating,
    /// To start, stop or delete them.
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

/// An outage should be over for us soon after it is over.
const PAUSE_FIRST: Duration = Duration::from_secs(1);
const PAUSE_LONGEST: Duration = Duration::from_secs(60);

impl Troubles {
    pub(super) fn new() -> Self {
        let waiting = || Waiting { backoff: Backoff::new(PAUSE_FIRST, PAUSE_LONGEST), last: None };
        Self { since: Instant::now(), listing: waiting(), creating: waiting(), changing: waiting() }
    }

    /// Whether it may be tried now.
    pub(super) fn permit(&self, activity: Activity) -> Result<(), Failure> {
        let waiting = self.of(activity);
        let (Some(wait), Some(last)) = (waiting.backoff.wait(self.since.elapsed()), &waiting.last) else {
            return Ok(());
        };
        let message = format!("not tried for another {} ms after {last}", wait.as_millis());
        // What is not tried has surely not happened.
        let kind = if last.kind == FailureKind::Uncertain { FailureKind::Transient } else { last.kind };
        Err(Failure { retry_after: Some(wait), ..Failure::new(kind, message) })
    }

    /// Notes what has come of what was done together: the failures among it.
    pub(super) fn note<'a>(&mut self, activity: Activity, failures: impl Iterator<Item = &'a Failure>) {
        // A state that does not permit something is about one machine, and not about the provider; so is what is wrong with a
        // machine, but not what is wrong with all that are created. One that is not there yet has no state.
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
