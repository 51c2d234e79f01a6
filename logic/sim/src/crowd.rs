//! The number of servers with at least so many requests, over time.

/// Number of servers with at least 1, 2, 3, ... requests, over time.
#[derive(Debug, Default)]
pub(crate) struct Crowd {
    levels: [Level; Crowd::LEVELS],
}

#[derive(Debug, Default, Clone, Copy)]
struct Level {
    servers: u64,
    since_ns: u64,
    /// Integral of the number of servers, in servers times nanoseconds.
    integral: f64,
}

impl Crowd {
    /// Highest level; more requests at one server are not distinguished.
    pub(crate) const LEVELS: usize = 16;

    /// Records that a server's number of requests changed from `before` to `after`.
    pub(crate) fn change(&mut self, now_ns: u64, before: usize, after: usize) {
        let (least, most) = (before.min(after), before.max(after));
        for level in self.levels.iter_mut().take(most).skip(least) {
            level.note(now_ns);
            level.servers = if after > before { level.servers + 1 } else { level.servers.saturating_sub(1) };
        }
    }

    /// Returns the mean number of servers with at least 1, 2, 3, ... requests since the last call, over
    /// `span_ns`.
    pub(crate) fn take_means(&mut self, now_ns: u64, span_ns: u64) -> [f64; Self::LEVELS] {
        self.levels.each_mut().map(|level| {
            level.note(now_ns);
            std::mem::take(&mut level.integral) / span_ns.max(1) as f64
        })
    }
}

impl Level {
    fn note(&mut self, now_ns: u64) {
        self.integral += self.servers as f64 * now_ns.saturating_sub(self.since_ns) as f64;
        self.since_ns = now_ns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_counted_at_every_level_that_they_reach() {
        let mut crowd = Crowd::default();
        crowd.change(0, 0, 3);
        crowd.change(0, 0, 1);
        crowd.change(50, 3, 1);
        assert_eq!(crowd.take_means(100, 100)[..4], [2.0, 0.5, 0.5, 0.0]);
        assert_eq!(crowd.take_means(200, 100)[..4], [2.0, 0.0, 0.0, 0.0]);
    }
}
