use std::time::Duration;

/// When something is decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Now {
    /// Since any fixed start; it never goes back. Every other time of this crate counts from the same start.
    pub at: Duration,
    /// Seconds since 1970 by the clock on the wall, in the time zone of schedules (UTC plus its offset).
    pub wall_s: i64,
}

impl Now {
    /// A moment of which the clock on the wall does not matter.
    pub const fn at(at: Duration) -> Self {
        Self { at, wall_s: at.as_secs() as i64 }
    }

    /// This moment and `span` more, on both clocks.
    pub fn plus(self, span: Duration) -> Self {
        let seconds = i64::try_from(span.as_secs()).unwrap_or(i64::MAX);
        Self { at: self.at.saturating_add(span), wall_s: self.wall_s.saturating_add(seconds) }
    }
}
