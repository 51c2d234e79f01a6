//! Growth of totals within a sliding time window.

use std::time::Duration;

/// Past values of two growing totals, to compute their growth within a time window. It keeps 8 to 9 slices of
/// the window in fixed memory.
///
/// A call reads only the oldest and the newest mark. With one window for each of thousands of servers, most
/// of this memory is not in the CPU cache.
#[derive(Debug, Clone)]
pub(crate) struct Window {
    /// Index of the oldest mark.
    oldest: usize,
    used: usize,
    /// Marks, as a ring buffer.
    past: [Mark; Self::SLICES + 1],
}

#[derive(Debug, Clone, Copy, Default)]
struct Mark {
    at: Duration,
    requests: u64,
    failures: u64,
}

impl Window {
    const SLICES: usize = 8;

    /// Creates a window that starts with these totals.
    pub(crate) fn starting(at: Duration, requests: u64, failures: u64) -> Self {
        let mut past = [Mark::default(); Self::SLICES + 1];
        past[0] = Mark { at, requests, failures };
        Self { oldest: 0, used: 1, past }
    }

    /// Returns the growth of the totals within the last `length`. After the first `length`, the result covers
    /// at least seven eighths of it. If the calls are less frequent than eight times in `length`, the result
    /// covers more time, not less.
    pub(crate) fn growth(
        &mut self,
        now: Duration,
        length: Duration,
        requests: u64,
        failures: u64,
    ) -> (u64, u64) {
        let age = |mark: Mark| now.saturating_sub(mark.at);
        let covered = length - length / Self::SLICES as u32;
        while self.used > 1 && age(self.mark(0)) > length && age(self.mark(1)) >= covered {
            self.oldest = self.place(1);
            self.used -= 1;
        }
        let base = self.mark(0);
        if age(self.mark(self.used - 1)) >= length / Self::SLICES as u32 && self.used < self.past.len() {
            self.past[self.place(self.used)] = Mark { at: now, requests, failures };
            self.used += 1;
        }
        (requests.saturating_sub(base.requests), failures.saturating_sub(base.failures))
    }

    /// Returns the index of the mark that is `after` positions after the oldest.
    fn place(&self, after: usize) -> usize {
        (self.oldest + after) % (Self::SLICES + 1)
    }

    fn mark(&self, after: usize) -> Mark {
        self.past[self.place(after)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A simple model: a list of marks, whose first ones are dropped.
    struct Plain(Vec<Mark>);

    impl Plain {
        fn growth(&mut self, now: Duration, length: Duration, totals: (u64, u64)) -> (u64, u64) {
            let age = |mark: &Mark| now.saturating_sub(mark.at);
            let covering = |mark: &Mark| age(mark) * 8 >= length * 7;
            let outdated = self.0.iter().zip(&self.0[1..]);
            let outdated = outdated.take_while(|(mark, next)| age(mark) > length && covering(next)).count();
            self.0.drain(..outdated);
            let base = self.0[0];
            let newest = age(&self.0[self.0.len() - 1]);
            if newest >= length / Window::SLICES as u32 && self.0.len() <= Window::SLICES {
                self.0.push(Mark { at: now, requests: totals.0, failures: totals.1 });
            }
            (totals.0 - base.requests, totals.1 - base.failures)
        }
    }

    #[test]
    fn a_ring_of_marks_tells_what_a_row_of_marks_does() {
        let length = Duration::from_secs(10);
        let mut window = Window::starting(Duration::ZERO, 5, 2);
        let mut plain = Plain(vec![Mark { at: Duration::ZERO, requests: 5, failures: 2 }]);
        let (mut now, mut requests, mut failures) = (Duration::ZERO, 5, 2);
        let mut grown = [0_u32; 2];
        for step in 0..2_000_u64 {
            // Intervals of different lengths, sometimes longer than a whole window.
            now += Duration::from_millis(if step % 97 == 0 { 25_000 } else { step * step % 2_311 });
            requests += step % 7;
            failures += u64::from(step % 5 == 0);
            let found = window.growth(now, length, requests, failures);
            assert_eq!(found, plain.growth(now, length, (requests, failures)), "step {step}");
            grown[usize::from(found.0 > 0)] += 1;
        }
        assert!(grown[1] > 1_000, "{grown:?}");
    }

    #[test]
    fn whoever_is_asked_seldom_covers_more_than_the_window_not_less() {
        let length = Duration::from_secs(10);
        let mut window = Window::starting(Duration::ZERO, 0, 0);
        for second in (6..=120).step_by(6) {
            // Ten requests a second, and all of them fail. 60 requests are less than the window, 120 are
            // more.
            let (requests, failures) =
                window.growth(Duration::from_secs(second), length, second * 10, second * 10);
            assert_eq!((requests, failures), if second == 6 { (60, 60) } else { (120, 120) }, "{second}");
        }
    }

    #[test]
    fn what_happened_before_the_window_does_not_count() {
        let length = Duration::from_secs(8);
        let mut window = Window::starting(Duration::ZERO, 0, 0);
        assert_eq!(window.growth(Duration::from_secs(1), length, 100, 50), (100, 50));
        assert_eq!(window.growth(Duration::from_secs(8), length, 110, 50), (110, 50));
        // The mark of the first second is now the base.
        assert_eq!(window.growth(Duration::from_secs(9), length, 120, 51), (20, 1));
    }
}
