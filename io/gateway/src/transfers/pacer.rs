use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// Keeps all transfers of a storage area together under a rate: each byte takes its time, and whoever has moved some waits until
/// theirs is over. What was not used is lost but for a tenth of a second's worth.
#[derive(Debug)]
pub(crate) struct Pacer {
    /// At least 1.
    bytes_per_second: u64,
    /// When all that was moved has had its time.
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

    /// `bytes` were moved: waits until the next may be.
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
        // Another transfer of the area, at the same time.
        assert_eq!(pacer.until(500, start), after(1_000));
        assert_eq!(pacer.until(100, after(900)), after(1_100));
        assert_eq!(pacer.until(1_000, after(10_000)), after(10_900));
    }
}
