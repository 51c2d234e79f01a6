//! How often what is costly is done.

use std::time::{Duration, Instant};

/// Keeps work to a share of the time: work that is quick is done each time, costly work more rarely.
#[derive(Debug, Default)]
pub(super) struct Pace {
    next: Option<Instant>,
}

/// One part of so many of the time is what it may take.
const PARTS: u32 = 100;

/// After so long it is done again, whatever it takes: older figures say too little.
const PAUSE_MAX: Duration = Duration::from_secs(10);

impl Pace {
    /// Whether it is time for it.
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.next.is_none_or(|next| now >= next)
    }

    /// It was done, and took so long. The next time comes after `pause_min` at the earliest.
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
