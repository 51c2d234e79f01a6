//! Meters for rates and levels.

use tokio::time::Instant;
use weir_control::{Level, PerSecond};

/// Meter that turns a growing total, read at intervals, into events per second.
#[derive(Debug, Clone, Copy)]
pub(in crate::control) struct RateMeter {
    total: u64,
    read_at: Instant,
    rate: PerSecond,
}

/// Meter that keeps the highest level.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::control) struct LevelMeter {
    max: u64,
}

impl RateMeter {
    /// Creates a meter whose total is 0 now.
    pub(in crate::control) fn starting(now: Instant) -> Self {
        Self { total: 0, read_at: now, rate: PerSecond::default() }
    }

    /// Records the total at `now`. An interval below one second counts as one second: one request in a
    /// millisecond is not a thousand per second.
    pub(in crate::control) fn read(&mut self, total: u64, now: Instant) {
        let grown = u128::from(total.saturating_sub(self.total));
        let millis = now.saturating_duration_since(self.read_at).as_millis().max(1_000);
        self.total = total;
        self.read_at = now;
        // Rounds, so that a slightly late reading does not show 999 for 1,000.
        self.rate.current = u64::try_from((grown * 1_000 + millis / 2) / millis).unwrap_or(u64::MAX);
        self.rate.max = self.rate.max.max(self.rate.current);
    }

    pub(in crate::control) fn rate(&self) -> PerSecond {
        self.rate
    }
}

impl LevelMeter {
    pub(in crate::control) fn read(&mut self, level: u64) {
        self.max = self.max.max(level);
    }

    pub(in crate::control) fn level(&self, current: u64, limit: Option<u64>) -> Level {
        Level { current, max: self.max.max(current), limit }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_late_reading_does_not_raise_the_rate() {
        let mut now = Instant::now();
        let mut meter = RateMeter::starting(now);
        let mut rate = |total, millis| {
            now += Duration::from_millis(millis);
            meter.read(total, now);
            meter.rate()
        };
        assert_eq!(rate(3_000, 3_000), PerSecond { current: 1_000, max: 1_000 });
        assert_eq!(rate(3_010, 1_001), PerSecond { current: 10, max: 1_000 });
        assert_eq!(rate(3_010, 0).current, 0);
        assert_eq!(rate(3_011, 1).current, 1);
    }
}
