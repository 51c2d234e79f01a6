//! Computes recent error rates and latencies from the last snapshots.

use std::collections::{HashMap, VecDeque};

use weir_control::{Latency, Snapshot};

/// Differences between the newest snapshot and one some snapshots ago. Totals since the start would hide a
/// current problem.
#[derive(Debug, Default)]
pub(super) struct Recent {
    past: VecDeque<Past>,
}

#[derive(Debug)]
struct Past {
    time_unix_ms: u64,
    servers: HashMap<(String, String), Counted>,
}

#[derive(Debug, Clone, Default)]
struct Counted {
    errors: u64,
    total: Latency,
}

/// Recent figures of one server.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct LastMoments {
    /// Failed connects, broken responses and 5xx per second.
    pub(super) errors_per_second: f64,
    /// Median and 99th percentile. `None` if there were no requests.
    pub(super) p50_us: Option<u64>,
    pub(super) p99_us: Option<u64>,
}

impl Recent {
    /// Number of snapshots to look back. Only one if there are many servers, because each keeps a histogram
    /// in memory.
    const DEPTH: usize = 5;
    const MANY_SERVERS: usize = 1_000;

    /// Adds the newest snapshot.
    pub(super) fn push(&mut self, snapshot: &Snapshot) {
        // The clock was set back or Weir has restarted, so older snapshots cannot be compared.
        if self.past.back().is_some_and(|last| last.time_unix_ms >= snapshot.time_unix_ms) {
            self.past.clear();
        }
        let servers: HashMap<_, _> = servers(snapshot).collect();
        let depth = if servers.len() > Self::MANY_SERVERS { 1 } else { Self::DEPTH };
        self.past.push_back(Past { time_unix_ms: snapshot.time_unix_ms, servers });
        while self.past.len() > depth + 1 {
            self.past.pop_front();
        }
    }

    /// Returns a server's recent figures up to the newest snapshot. Returns `None` if there is no older
    /// snapshot to compare with.
    pub(super) fn of(&self, pool: &str, server: &str) -> Option<LastMoments> {
        let (first, last) = (self.past.front()?, self.past.back()?);
        let key = (pool.to_owned(), server.to_owned());
        let (before, now) = (first.servers.get(&key)?, last.servers.get(&key)?);
        let seconds = last.time_unix_ms.checked_sub(first.time_unix_ms).filter(|ms| *ms > 0)? as f64 / 1e3;
        let total = now.total.since(&before.total);
        Some(LastMoments {
            errors_per_second: now.errors.saturating_sub(before.errors) as f64 / seconds,
            p50_us: total.quantile_us(0.5),
            p99_us: total.quantile_us(0.99),
        })
    }
}

fn servers(snapshot: &Snapshot) -> impl Iterator<Item = ((String, String), Counted)> {
    snapshot.pools.iter().flat_map(|pool| {
        pool.servers.iter().map(|server| {
            let traffic = &server.traffic;
            let errors = traffic.connect_errors + traffic.response_errors + traffic.responses.server_error;
            let counted = Counted { errors, total: traffic.total.clone() };
            ((pool.name.clone(), server.name.clone()), counted)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use weir_control::{PoolSnapshot, ServerSnapshot};

    fn snapshot(second: u64, errors: u64, latencies_us: &[u64]) -> Snapshot {
        let mut server = ServerSnapshot { name: "w1".to_owned(), ..ServerSnapshot::default() };
        server.traffic.connect_errors = errors;
        latencies_us.iter().for_each(|us| server.traffic.total.record(*us, 1));
        let pool = PoolSnapshot { name: "web".to_owned(), servers: vec![server], ..PoolSnapshot::default() };
        Snapshot { time_unix_ms: second * 1_000, pools: vec![pool], ..Snapshot::default() }
    }

    #[test]
    fn only_the_last_moments_count() {
        let mut recent = Recent::default();
        recent.push(&snapshot(1, 100, &[7]));
        assert_eq!(recent.of("web", "w1"), None, "there is nothing to compare with");
        recent.push(&snapshot(3, 104, &[7, 6, 6, 5]));
        let moments = recent.of("web", "w1").unwrap();
        assert_eq!((moments.errors_per_second, moments.p50_us, moments.p99_us), (2.0, Some(6), Some(6)));
        for second in 4..20 {
            recent.push(&snapshot(second, 104, &[7, 6, 6, 5]));
        }
        let moments = recent.of("web", "w1").unwrap();
        assert_eq!((moments.errors_per_second, moments.p99_us), (0.0, None));
        assert_eq!(recent.past.len(), Recent::DEPTH + 1);
    }

    #[test]
    fn after_a_clock_that_went_back_it_begins_anew() {
        let mut recent = Recent::default();
        recent.push(&snapshot(10, 0, &[]));
        recent.push(&snapshot(5, 9, &[]));
        assert_eq!(recent.of("web", "w1"), None);
        recent.push(&snapshot(6, 9, &[]));
        assert_eq!(recent.of("web", "w1").map(|moments| moments.errors_per_second), Some(0.0));
    }
}
