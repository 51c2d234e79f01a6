use std::time::Duration;

use tokio::time::Instant;

/// Since when something is up or down, how often it went down, and for how long in all.
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

    /// Takes note; tells how long the state that has ended had lasted, if one has.
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

    /// For how long it has been what it is.
    pub(in crate::control) fn lasts(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.changed)
    }

    pub(in crate::control) fn times_down(&self) -> u64 {
        self.times_down
    }

    /// How long it was down in all.
    pub(in crate::control) fn downtime(&self, now: Instant) -> Duration {
        if self.is_up { self.down_before } else { self.down_before + self.lasts(now) }
    }
}
