//! Limits how often costly work is repeated.

use std::time::{Duration, Instant};

/// Pace that limits work to a share of the time: quick work is done each time, costly work less often.
#[derive(Debug, Default)]
pub(super) struct Pace {
    next: Option<Instant>,
}

/// Divisor of the time: the work may take one hundredth.
const PARTS: u32 = 100;

/// Maximum pause, whatever the cost, because older figures are of little use.
const PAUSE_MAX: Duration = Duration::from_secs(10);

impl Pace {
    /// Returns true if the work is due.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.next.is_none_or(|next| now >= next)
    }

    /// Records that the work was done and took `took`. It is due again after `pause_min` at the earliest.
    pub(super) fn done(&mut self, began: Instant, took: Duration, pause_min: Duration) {
        let pause = took.saturating_mul(PARTS).max(pause_min).min(PAUSE_MAX);
        self.next = Some(began + pause);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_costs_more_is_done_more_rarely() {
        let mut pace = Pace::default();
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        assert!(pace.is_due(start));
        pace.done(start, Duration::from_millis(2), Duration::ZERO);
        assert!(!pace.is_due(at(199)) && pace.is_due(at(200)));
        pace.done(start, Duration::from_millis(2), Duration::from_millis(900));
        assert!(!pace.is_due(at(899)) && pace.is_due(at(900)));
        pace.done(start, Duration::from_secs(3), Duration::ZERO);
        assert!(!pace.is_due(at(9_999)) && pace.is_due(at(10_000)));
    }
}
