use std::time::Duration;

/// Remembers what two growing totals were, to tell how much they grew within a time window: 8 to 9 slices of it, in
/// fixed memory.
#[derive(Debug, Clone)]
pub(crate) struct Window {
    /// Oldest first.
    past: [Mark; Self::SLICES + 1],
    used: usize,
}

#[derive(Debug, Clone, Copy, Default)]
struct Mark {
    at: Duration,
    requests: u64,
    failures: u64,
}

impl Window {
    const SLICES: usize = 8;

    /// Starts counting at these totals.
    pub(crate) fn starting(at: Duration, requests: u64, failures: u64) -> Self {
        let mut past = [Mark::default(); Self::SLICES + 1];
        past[0] = Mark { at, requests, failures };
        Self { past, used: 1 }
    }

    /// How much the totals grew within the last `length`, at least seven eighths of which are covered. If it was last
    /// asked longer ago than that: since then.
    pub(crate) fn growth(
        &mut self,
        now: Duration,
        length: Duration,
        requests: u64,
        failures: u64,
    ) -> (u64, u64) {
        let age = |mark: &Mark| now.saturating_sub(mark.at);
        let outdated = self.past[..self.used].iter().take_while(|mark| age(mark) > length).count();
        let dropped = outdated.min(self.used - 1);
        self.past.copy_within(dropped..self.used, 0);
        self.used -= dropped;

        let base = self.past[0];
        if age(&self.past[self.used - 1]) >= length / Self::SLICES as u32 && self.used < self.past.len() {
            self.past[self.used] = Mark { at: now, requests, failures };
            self.used += 1;
        }
        (requests.saturating_sub(base.requests), failures.saturating_sub(base.failures))
    }
}
