//! The pace of a queue and the waiting times that follow from it.

/// Pace of a queue: the mean time between two departures while others wait.
///
/// It is the plain mean of the first 16 intervals. After that it is exponentially weighted with 1/16, so the
/// last few dozen intervals count. It is unknown before eight intervals, because a guess would reject clients
/// for no reason.
#[derive(Debug, Clone, Default)]
pub struct Departures {
    mean_us: f64,
    intervals: u32,
    /// Time of the last departure, if requests have been waiting ever since.
    last_us: Option<u64>,
}

impl Departures {
    const KNOWN_FROM: u32 = 8;
    const KEPT: u32 = 16;

    /// Records that a request was served. With `others_wait`, the next interval counts.
    pub fn departed(&mut self, now_us: u64, others_wait: bool) {
        if let Some(last) = self.last_us {
            self.intervals = (self.intervals + 1).min(Self::KEPT);
            self.mean_us = self.with(now_us.saturating_sub(last), self.intervals);
        }
        self.last_us = others_wait.then_some(now_us);
    }

    /// Records that the queue is empty, so the time until the next departure does not count.
    pub fn emptied(&mut self) {
        self.last_us = None;
    }

    /// Resets the measurements after servers were added or removed.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// Returns the waiting time of a request with `ahead` requests before it, in microseconds; `None` = not
    /// known yet.
    ///
    /// An interval that has not ended counts once it is longer than the mean. So the waiting time of a
    /// stalled queue grows.
    pub fn wait_us(&self, ahead: usize, now_us: u64) -> Option<u64> {
        if self.intervals < Self::KNOWN_FROM {
            return None;
        }
        let open_us = self.last_us.map_or(0, |last| now_us.saturating_sub(last));
        let mean_us = if open_us as f64 > self.mean_us {
            self.with(open_us, (self.intervals + 1).min(Self::KEPT))
        } else {
            self.mean_us
        };
        // The cast saturates.
        Some((mean_us * (ahead as f64 + 1.0)) as u64)
    }

    fn with(&self, interval_us: u64, count: u32) -> f64 {
        self.mean_us + (interval_us as f64 - self.mean_us) / f64::from(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn every(interval_us: u64, times: u64) -> Departures {
        let mut departures = Departures::default();
        (0..=times).for_each(|time| departures.departed(time * interval_us, true));
        departures
    }

    #[test]
    fn nothing_is_said_before_enough_was_seen() {
        assert_eq!(every(1_000, 7).wait_us(5, 7_000), None);
        assert_eq!(every(1_000, 8).wait_us(5, 8_000), Some(6_000));
        let mut forgotten = every(1_000, 100);
        forgotten.forget();
        assert_eq!(forgotten.wait_us(0, 100_000), None);
    }

    #[test]
    fn time_in_which_nobody_waits_does_not_count() {
        let mut departures = every(1_000, 20);
        departures.departed(21_000, false);
        departures.departed(60_000_000, true);
        assert_eq!(departures.wait_us(0, 60_000_000), Some(1_000));
        departures.emptied();
        departures.departed(90_000_000, true);
        assert_eq!(departures.wait_us(0, 90_000_000), Some(1_000));
    }

    #[test]
    fn a_queue_that_stands_still_gets_slower() {
        let departures = every(1_000, 20);
        assert_eq!(departures.wait_us(0, 20_000 + 500), Some(1_000));
        let waits: Vec<_> =
            [0, 10_000, 100_000, 1_000_000].map(|still| departures.wait_us(0, 20_000 + still)).into();
        assert!(waits.is_sorted() && waits[3] > Some(50_000), "{waits:?}");
    }

    #[test]
    fn a_change_of_pace_is_known_after_some_dozens() {
        let mut departures = every(1_000, 100);
        (1..=60).for_each(|time| departures.departed(100_000 + time * 10_000, true));
        let wait = departures.wait_us(9, 700_000).unwrap();
        assert!((90_000..=100_000).contains(&wait), "{wait}");
    }

    #[test]
    fn absurd_times_do_no_harm() {
        let mut departures = Departures::default();
        for time in [u64::MAX, 0, 5, u64::MAX, 1, u64::MAX, 3, 2, 1, 0, u64::MAX] {
            departures.departed(time, true);
        }
        assert!(departures.wait_us(usize::MAX, u64::MAX).is_some());
    }
}
