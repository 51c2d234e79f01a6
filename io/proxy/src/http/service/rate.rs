//! Limits the rate at which a body is sent.

use std::time::{Duration, Instant};

/// Portions per second: more portions would cost more calls, fewer would be uneven.
const SHARE: u32 = 10;
/// Minimum size of a portion, limited to the bytes of one second: a client that receives nothing for longer
/// may give up.
const PORTION_BYTES_MIN: u64 = 512;

/// Rate limit of one body.
#[derive(Debug)]
pub(super) struct Rate {
    bytes_per_second: u64,
    started: Instant,
}

impl Rate {
    pub(super) fn new(bytes_per_second: u64, started: Instant) -> Self {
        Self { bytes_per_second: bytes_per_second.max(1), started }
    }

    /// Returns how many bytes may be sent now, after `sent` bytes, or when the next ones may be sent. Unused
    /// time accumulates for at most one portion.
    pub(super) fn allows(&mut self, sent: u64, now: Instant) -> Result<u64, Instant> {
        let portion =
            (self.bytes_per_second / u64::from(SHARE)).max(PORTION_BYTES_MIN.min(self.bytes_per_second));
        // The first portion is due at once; each further one must wait.
        let due = self.time_of(sent);
        let owed = now.saturating_duration_since(self.started);
        if owed < due {
            return Err(self.started + due);
        }
        let unused = owed - due;
        let portion_time = self.time_of(portion);
        if unused > portion_time {
            // The client or the disk was slow; the lost time is not made up for.
            self.started += unused - portion_time;
        }
        Ok(portion)
    }

    fn time_of(&self, bytes: u64) -> Duration {
        let nanoseconds = u128::from(bytes) * 1_000_000_000 / u128::from(self.bytes_per_second);
        // An overflow means more than five hundred years, for which any value is good enough.
        Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns when the last of `bytes` was sent and in how many portions, with a clock that ticks as late as
    /// permitted.
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
        // The gap between two portions is never longer than a second.
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
