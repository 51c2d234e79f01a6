use serde::Serialize;
use weir_stats::{Histogram, Resolution};

use crate::Series;
use crate::crowd::Crowd;

/// What came of one run: one algorithm, one seed. Measured from the end of the warm-up to the last arrival, latencies until
/// the last request is over.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// From arrival to the end of the answer, network included, of measured requests that were answered.
    pub latency: Histogram,
    /// Their sum in nanoseconds, exact.
    pub latency_sum_ns: u128,
    /// Requests that were measured, answered or not.
    pub measured: u64,
    /// Those that were not answered.
    pub errors: Errors,
    /// The same apart for requests of none of the scenario's priorities, and of each; empty where it has none.
    pub priorities: Vec<PriorityRun>,
    /// The share of each server's slots that was in use, in the scenario's order.
    pub utilisation: Vec<f64>,
    /// Mean number of requests that waited, at servers and in the balancer.
    pub queue_mean: f64,
    /// The most that waited at the same time.
    pub queue_max: u64,
    /// How many waited, from the start to the last arrival.
    pub queue: Series,
    /// The share of servers that had at least 1, 2, 3, ... requests, in service or waiting: means over time.
    pub crowd: [f64; Crowd::LEVELS],
    /// Requests that found their URI in the server's cache, and those that asked a server with a cache.
    pub cache: Option<(u64, u64)>,
    /// The share of clients who came again and were moved: without need, or where clients stay with their servers, at all.
    pub moved_share: Option<f64>,
    /// Second tries of measured requests, beside slow first ones.
    pub hedges: u64,
    /// Those of them that were answered first.
    pub hedges_won: u64,
    /// What each server weighed in the end, in the scenario's order, where weights are found by measurement; else empty.
    pub found_weights: Vec<u32>,
    /// How long was measured, in simulated seconds.
    pub span_s: f64,
    /// The most requests in flight at the same time.
    pub in_flight_max: u64,
    /// The most events in the heap at the same time.
    pub events_max: u64,
    /// What was transferred, where sizes are known, warm-up included; 0 = they are not.
    pub bytes: u128,
    /// Lines of the replayed log that were passed over, because they asked no server.
    pub skipped: u64,
}

/// Measured requests of one priority.
#[derive(Debug, Clone, PartialEq)]
pub struct PriorityRun {
    /// As [`Run::latency`].
    pub latency: Histogram,
    /// How many there were, answered or not.
    pub measured: u64,
    /// Those that were not answered.
    pub failed: u64,
}

/// Measured requests that were not answered, by cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Errors {
    /// Every server that was tried was dead, or none was left.
    pub refused: u64,
    /// Their server died.
    pub broken: u64,
    /// Every server was at its limit for too long.
    pub timed_out: u64,
    /// As many requests waited as may.
    pub queue_full: u64,
    /// They would have waited for too long, and were turned away at once.
    pub hopeless: u64,
    /// The breaker turned them away, because too many before them had failed.
    pub breaker: u64,
}

impl Errors {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.refused + self.broken + self.timed_out + self.queue_full + self.hopeless + self.breaker
    }
}

impl Default for Run {
    fn default() -> Self {
        Self {
            latency: Histogram::new(Resolution::Precise),
            latency_sum_ns: 0,
            measured: 0,
            errors: Errors::default(),
            priorities: Vec::new(),
            utilisation: Vec::new(),
            queue_mean: 0.0,
            queue_max: 0,
            queue: Series::new(),
            crowd: [0.0; Crowd::LEVELS],
            cache: None,
            moved_share: None,
            hedges: 0,
            hedges_won: 0,
            found_weights: Vec::new(),
            span_s: 0.0,
            in_flight_max: 0,
            events_max: 0,
            bytes: 0,
            skipped: 0,
        }
    }
}

impl Default for PriorityRun {
    fn default() -> Self {
        Self { latency: Histogram::new(Resolution::Precise), measured: 0, failed: 0 }
    }
}

impl Run {
    /// The mean latency in seconds, exact; 0 if nothing was answered.
    pub fn mean_s(&self) -> f64 {
        let answered = self.latency.count();
        if answered == 0 { 0.0 } else { self.latency_sum_ns as f64 / answered as f64 / 1e9 }
    }

    /// A quantile of the latency in seconds, known to 0.4 percent; 0 if nothing was answered.
    pub fn quantile_s(&self, quantile: f64) -> f64 {
        self.latency.quantile(quantile).unwrap_or(0) as f64 / 1e6
    }
}
