use std::time::Duration;

use weir_control::{Level, PerSecond};

/// Turns a growing total, read about once a second, into events per second.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::control) struct RateMeter {
    total: u64,
    rate: PerSecond,
}

/// Remembers the highest of what was read.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::control) struct LevelMeter {
    max: u64,
}

impl RateMeter {
    /// The total, `elapsed` after the last reading.
    pub(in crate::control) fn read(&mut self, total: u64, elapsed: Duration) {
        let grown = u128::from(total.saturating_sub(self.total));
        let millis = elapsed.as_millis().max(1);
        self.total = total;
        // Rounded, so that a reading that comes a little late does not show 999 for 1,000.
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
    use super::*;

    #[test]
    fn a_late_reading_does_not_raise_the_rate() {
        let mut meter = RateMeter::default();
        meter.read(3_000, Duration::from_secs(3));
        assert_eq!(meter.rate(), PerSecond { current: 1_000, max: 1_000 });
        meter.read(3_010, Duration::from_millis(1_001));
        assert_eq!(meter.rate(), PerSecond { current: 10, max: 1_000 });
        meter.read(3_010, Duration::ZERO);
        assert_eq!(meter.rate().current, 0);
    }
}
