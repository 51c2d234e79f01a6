//! Minimum data rate of a connection.

use std::time::Duration;

use super::Fault;

/// Minimum data rate of a connection. A peer that moves one byte now and then never reaches the idle timeout,
/// but would occupy its slot forever.
///
/// Only the time spent waiting for the peer counts, not the time of the local disk or of a rate limit.
#[derive(Debug)]
pub(super) struct Floor {
    bytes_per_second: u64,
    /// Waiting time after which the rate is checked.
    window: Duration,
    waited: Duration,
    bytes: u64,
}

impl Floor {
    /// Creates a limit; 0 bytes per second means no limit.
    pub(super) fn new(bytes_per_second: u64, window: Duration) -> Self {
        Self { bytes_per_second, window, waited: Duration::ZERO, bytes: 0 }
    }

    /// Records that bytes moved after a wait of this length.
    ///
    /// # Errors
    /// If the rate was too low.
    pub(super) fn moved(&mut self, waited: Duration, bytes: usize) -> Result<(), Fault> {
        self.waited += waited;
        self.bytes = self.bytes.saturating_add(bytes as u64);
        if self.bytes_per_second == 0 || self.waited < self.window {
            return Ok(());
        }
        let wanted = u128::from(self.bytes_per_second) * self.waited.as_millis() / 1_000;
        let (bytes, waited) = (self.bytes, self.waited);
        (self.bytes, self.waited) = (0, Duration::ZERO);
        if u128::from(bytes) >= wanted {
            return Ok(());
        }
        Err(Fault::passing(format!(
            "too slow: {bytes} bytes in {} ms, and {} a second are the least",
            waited.as_millis(),
            self.bytes_per_second
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_byte_now_and_then_is_too_slow_and_a_pause_after_enough_is_not() {
        let mut floor = Floor::new(100, 10 * SECOND);
        for _ in 0..9 {
            floor.moved(SECOND, 1).unwrap();
        }
        let fault = floor.moved(SECOND, 1).unwrap_err();
        assert_eq!(fault.to_string(), "too slow: 10 bytes in 10000 ms, and 100 a second are the least");
        assert!(fault.is_passing());
        // Each window is checked separately.
        floor.moved(9 * SECOND, 1).unwrap();
        floor.moved(SECOND, 999).unwrap();
        assert!(floor.moved(10 * SECOND, 999).is_err());
        // Data that came without waiting takes no time.
        for _ in 0..1_000 {
            floor.moved(Duration::ZERO, 1).unwrap();
        }
        floor.moved(10 * SECOND, 0).unwrap();
    }

    #[test]
    fn without_a_floor_nothing_is_too_slow() {
        let mut floor = Floor::new(0, SECOND);
        assert!((0..100).all(|_| floor.moved(SECOND, 1).is_ok()));
    }
}
