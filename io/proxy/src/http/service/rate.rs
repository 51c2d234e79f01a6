//! How fast a body may be sent.

use std::time::{Duration, Instant};

/// So much of a second's bytes goes out at once: less would be more calls, more would not be even.
const SHARE: u32 = 10;
/// Even of a slow one, but no more than a second's: a client that hears nothing for longer takes it for the end.
const PORTION_BYTES_MIN: u64 = 512;

/// Bytes of one body, spread over time.
#[derive(Debug)]
pub(super) struct Rate {
    bytes_per_second: u64,
    started: Instant,
}

impl Rate {
    pub(super) fn new(bytes_per_second: u64, started: Instant) -> Self {
        Self { bytes_per_second: bytes_per_second.max(1), started }
    }

    /// How many bytes may be sent now if so many were, or when the next ones may. What has not been used is not kept for longer
    /// than a portion.
    pub(super) fn allows(&mut self, sent: u64, now: Instant) -> Result<u64, Instant> {
        let portion =
            (self.bytes_per_second / u64::from(SHARE)).max(PORTION_BYTES_MIN.min(self.bytes_per_second));
        // The first portion goes out at once, each further one has to be waited for.
        let due = self.time_of(sent);
        let owed = now.saturating_duration_since(self.started);
        if owed < due {
            return Err(self.started + due);
        }
        let unused = owed - due;
        let portion_time = self.time_of(portion);
        if unused > portion_time {
            // The client was slow, or the disk: that is not made up for.
            self.started += unused - portion_time;
        }
        Ok(portion)
    }

    fn time_of(&self, bytes: u64) -> Duration {
        let nanoseconds = u128::from(bytes) * 1_000_000_000 / u128::from(self.bytes_per_second);
        // Five hundred years are as good as more.
        Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// When the last of so many bytes went out, and in how many portions, if the clock always ticks as late as it may.
    fn run(bytes_per_second: u64, bytes: u64) -> (Duration, u32) {
        let start = Instant::now();
        let (mut rate, mut now) = (Rate::new(bytes_per_second, start), start);
        let (mut sent, mut portions) = (0, 0);
        while sent < bytes {
            match rate.allows(sent, now) {
                Ok(allowed) => {
                    assert!(allowed > 0);
                    sent += allowed.min(bytes - sent);
                    portions += 1;
                }
                Err(until) => {
                    assert!(until > now);
                    now = until;
                }
            }
        }
        (now - start, portions)
    }

    #[test]
    fn a_body_takes_as_long_as_its_rate_says() {
        let (took, portions) = run(10_000, 100_000);
        assert!((Duration::from_millis(9_700)..=Duration::from_secs(10)).contains(&took), "{took:?}");
        assert_eq!(portions, 100);
        let (took, portions) = run(1, 2_000);
        assert_eq!((took, portions), (Duration::from_secs(1_999), 2_000));
        // Nor does it stand still for longer than a second between two portions.
        for bytes_per_second in [1, 2, 100, 511, 512, 513, 5_120, 5_121, 1_000_000] {
            let (took, portions) = run(bytes_per_second, 10 * bytes_per_second);
            assert!(took <= Duration::from_secs(1) * portions, "{bytes_per_second}: {took:?} {portions}");
        }
        assert_eq!(run(1_000_000, 1_000).0, Duration::ZERO);
        assert!(run(u64::MAX, u64::MAX).0 <= Duration::from_secs(1));
    }

    #[test]
    fn time_that_was_not_used_is_not_made_up_for() {
        let start = Instant::now();
        let mut rate = Rate::new(1_000, start);
        assert!(rate.allows(0, start).is_ok());
        let late = start + Duration::from_secs(100);
        let mut sent = 512;
        while rate.allows(sent, late).is_ok() {
            sent += 512;
        }
        assert!(sent <= 4 * 512, "{sent}");
    }
}
