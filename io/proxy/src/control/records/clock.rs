//! A clock for up and down times.

use std::time::Duration;

use tokio::time::Instant;

/// Time since the last change between up and down, number of times down, and total downtime.
#[derive(Debug, Clone)]
pub(in crate::control) struct UpClock {
    is_up: bool,
    changed: Instant,
    down_before: Duration,
    times_down: u64,
}

impl UpClock {
    pub(in crate::control) fn new(is_up: bool, now: Instant) -> Self {
        Self { is_up, changed: now, down_before: Duration::ZERO, times_down: 0 }
    }

    pub(in crate::control) fn is_up(&self) -> bool {
        self.is_up
    }

    /// Sets the state. If it changes, returns the duration of the previous state.
    pub(in crate::control) fn set(&mut self, is_up: bool, now: Instant) -> Option<Duration> {
        if is_up == self.is_up {
            return None;
        }
        let lasted = now.saturating_duration_since(self.changed);
        match is_up {
            true => self.down_before += lasted,
            false => self.times_down += 1,
        }
        self.is_up = is_up;
        self.changed = now;
        Some(lasted)
    }

    /// Returns the time since the last change.
    pub(in crate::control) fn lasts(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.changed)
    }

    pub(in crate::control) fn times_down(&self) -> u64 {
        self.times_down
    }

    /// Returns the total downtime.
    pub(in crate::control) fn downtime(&self, now: Instant) -> Duration {
        if self.is_up { self.down_before } else { self.down_before + self.lasts(now) }
    }
}
