use std::time::Duration;

/// When requests are due, from the start: evenly spaced.
#[derive(Debug)]
pub(super) struct Schedule {
    gap_ns: f64,
    next: u64,
    total: u64,
}

impl Schedule {
    /// `rate_per_s` requests a second for `duration`.
    pub(super) fn new(rate_per_s: f64, duration: Duration) -> Self {
        Self { gap_ns: 1e9 / rate_per_s, next: 0, total: (rate_per_s * duration.as_secs_f64()) as u64 }
    }

    /// Requests in all.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// When the next one is due; `None` = that was all. Computed from its number: rounding does not add up.
    pub(super) fn peek(&self) -> Option<Duration> {
        (self.next < self.total).then(|| Duration::from_nanos((self.next as f64 * self.gap_ns) as u64))
    }

    /// The next one has started.
    pub(super) fn advance(&mut self) {
        self.next += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_evenly_spaced_over_the_whole_duration() {
        let mut schedule = Schedule::new(3.0, Duration::from_secs(1000));
        assert_eq!(schedule.total(), 3000);
        let mut due = Vec::new();
        while let Some(next) = schedule.peek() {
            due.push(next);
            schedule.advance();
        }
        assert_eq!(due.len(), 3000);
        assert_eq!(due[0], Duration::ZERO);
        // A third of a second does not end in binary; the last one is where it belongs all the same.
        assert!(due[2999].abs_diff(Duration::from_millis(999_666)) < Duration::from_millis(1));
    }
}
