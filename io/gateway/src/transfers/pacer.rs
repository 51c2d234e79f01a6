//! Rate limit for the transfers of a storage area.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// Limits the combined rate of all transfers of a storage area. Each byte takes its share of time, and a
/// transfer waits until the time of its bytes is over. At most 0.1 s of unused time is saved up.
#[derive(Debug)]
pub(crate) struct Pacer {
    /// Rate limit, at least 1.
    bytes_per_second: u64,
    /// End of the time taken by all bytes so far.
    paid_until: Mutex<Option<Instant>>,
}

const BURST: Duration = Duration::from_millis(100);

impl Pacer {
    pub(crate) fn new(bytes_per_second: u64) -> Self {
        Self { bytes_per_second: bytes_per_second.max(1), paid_until: Mutex::new(None) }
    }

    pub(crate) fn bytes_per_second(&self) -> u64 {
        self.bytes_per_second
    }

    /// Records `bytes` and waits until more may be moved.
    pub(crate) async fn moved(&self, bytes: usize) {
        let until = self.until(bytes, Instant::now());
        sleep_until(until).await;
    }

    fn until(&self, bytes: usize, now: Instant) -> Instant {
        let takes = Duration::from_secs_f64(bytes as f64 / self.bytes_per_second as f64);
        let mut paid_until = self.paid_until.lock().unwrap_or_else(PoisonError::into_inner);
        let earliest = now.checked_sub(BURST).unwrap_or(now);
        let from = paid_until.map_or(now, |paid| paid.max(earliest));
        let until = from + takes;
        *paid_until = Some(until);
        until
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_takes_its_time_and_pauses_are_not_saved_up() {
        let pacer = Pacer::new(1_000);
        let start = Instant::now();
        let after = |ms| start + Duration::from_millis(ms);
        assert_eq!(pacer.until(500, start), after(500));
        // A simultaneous transfer of the same area.
        assert_eq!(pacer.until(500, start), after(1_000));
        assert_eq!(pacer.until(100, after(900)), after(1_100));
        assert_eq!(pacer.until(1_000, after(10_000)), after(10_900));
    }
}
