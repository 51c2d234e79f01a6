//! Time of decisions.

use std::time::Duration;

/// Time of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Now {
    /// Time since any fixed origin; it never goes back. All other times of this crate have the same origin.
    pub at: Duration,
    /// Seconds since 1970 of the wall clock, in the time zone of schedules (UTC plus its offset).
    pub wall_s: i64,
}

impl Now {
    /// Creates a time if the wall clock does not matter.
    pub const fn at(at: Duration) -> Self {
        Self { at, wall_s: at.as_secs() as i64 }
    }

    /// Adds `span` to both clocks.
    pub fn plus(self, span: Duration) -> Self {
        let seconds = i64::try_from(span.as_secs()).unwrap_or(i64::MAX);
        Self { at: self.at.saturating_add(span), wall_s: self.wall_s.saturating_add(seconds) }
    }
}
