use std::time::Duration;

/// Waits longer after each failure in a row: `first`, twice that, and so on up to `longest`. Without jitter: a fleet has one
/// leader, so nobody else waits for the same moment.
#[derive(Debug, Clone)]
pub struct Backoff {
    first: Duration,
    longest: Duration,
    failures: u32,
    until: Option<Duration>,
}

impl Backoff {
    /// Nothing has failed yet.
    pub fn new(first: Duration, longest: Duration) -> Self {
        Self { first, longest, failures: 0, until: None }
    }

    /// It has failed at `now` (of any clock that does not go back, the same each time); the other side may have asked for a pause.
    pub fn failed(&mut self, now: Duration, asked: Option<Duration>) {
        let doubled = self.first.saturating_mul(1_u32.checked_shl(self.failures).unwrap_or(u32::MAX));
        // A pause that is asked for counts up to an hour: nobody may switch a fleet off for good.
        let asked = asked.unwrap_or_default().min(Duration::from_secs(3600));
        self.failures = self.failures.saturating_add(1);
        self.until = Some(now + doubled.min(self.longest).max(asked));
    }

    /// It has worked.
    pub fn worked(&mut self) {
        self.failures = 0;
        self.until = None;
    }

    /// How long still to wait; `None` = not at all.
    pub fn wait(&self, now: Duration) -> Option<Duration> {
        self.until.and_then(|until| until.checked_sub(now)).filter(|left| !left.is_zero())
    }

    /// Failures in a row.
    pub fn failures(&self) -> u32 {
        self.failures
    }
}
