//! Exponential backoff without jitter.

use std::time::Duration;

/// Pause that grows with each failure in a row: `first`, twice that, and so on up to `longest`. There is no
/// jitter: a fleet has one leader, so no other process retries at the same time.
#[derive(Debug, Clone)]
pub struct Backoff {
    first: Duration,
    longest: Duration,
    failures: u32,
    until: Option<Duration>,
}

impl Backoff {
    /// Creates a backoff without failures.
    pub fn new(first: Duration, longest: Duration) -> Self {
        Self { first, longest, failures: 0, until: None }
    }

    /// Records a failure at `now`, of any monotonic clock. `asked` is a pause that the other side requested.
    pub fn failed(&mut self, now: Duration, asked: Option<Duration>) {
        let doubled = self.first.saturating_mul(1_u32.checked_shl(self.failures).unwrap_or(u32::MAX));
        // A requested pause is limited to an hour, so that no server can disable a fleet permanently.
        let asked = asked.unwrap_or_default().min(Duration::from_secs(3600));
        self.failures = self.failures.saturating_add(1);
        self.until = Some(now + doubled.min(self.longest).max(asked));
    }

    /// Records a success.
    pub fn worked(&mut self) {
        self.failures = 0;
        self.until = None;
    }

    /// Returns the remaining pause; `None` = no pause.
    pub fn wait(&self, now: Duration) -> Option<Duration> {
        self.until.and_then(|until| until.checked_sub(now)).filter(|left| !left.is_zero())
    }

    /// Returns the number of failures in a row.
    pub fn failures(&self) -> u32 {
        self.failures
    }
}
