//! The results of one run.

use serde::Serialize;
use weir_stats::{Histogram, Resolution};

use crate::Series;
use crate::crowd::Crowd;

/// Results of one run: one algorithm, one seed.
///
/// Figures are measured from the end of the warm-up to the last arrival; latencies, until the last request
/// ends.
#[derive(Debug, Clone, PartialEq)]
pub struct Run {
    /// Time from arrival to the end of the response, including network time, of measured requests with a
    /// response.
    pub latency: Histogram,
    /// Exact sum of the latencies in nanoseconds.
    pub latency_sum_ns: u128,
    /// Measured requests, with or without a response.
    pub measured: u64,
    /// Measured requests without a response.
    pub errors: Errors,
    /// Separate results of requests without one of the scenario's priorities, and of each priority; empty
    /// without priorities.
    pub priorities: Vec<PriorityRun>,
    /// Share of each server's slots in use, in the scenario's order.
    pub utilisation: Vec<f64>,
    /// Mean number of requests that waited, at servers and in the balancer.
    pub queue_mean: f64,
    /// Most requests waiting at the same time.
    pub queue_max: u64,
    /// Number of waiting requests over time, from the start to the last arrival.
    pub queue: Series,
    /// Mean share over time of servers with at least 1, 2, 3, ... requests, in service or waiting.
    pub crowd: [f64; Crowd::LEVELS],
    /// Requests whose URI was in the server's cache, and all requests to servers with a cache.
    pub cache: Option<(u64, u64)>,
    /// Share of returning clients that were moved unnecessarily; with sticky clients, that were moved for any
    /// reason.
    pub moved_share: Option<f64>,
    /// Second tries of measured requests, in parallel to slow first ones.
    pub hedges: u64,
    /// Second tries that were answered first.
    pub hedges_won: u64,
    /// Final weight of each server in the scenario's order, if weights are automatic; else empty.
    pub found_weights: Vec<u32>,
    /// Measured time, in simulated seconds.
    pub span_s: f64,
    /// Most requests in flight at the same time.
    pub in_flight_max: u64,
    /// Most events in the heap at the same time.
    pub events_max: u64,
    /// Transferred bytes including the warm-up, if sizes are known; 0 = not known.
    pub bytes: u128,
    /// Skipped lines of the replayed log, whose requests reached no server.
    pub skipped: u64,
}

/// Results of measured requests of one priority.
#[derive(Debug, Clone, PartialEq)]
pub struct PriorityRun {
    /// Latencies, as in [`Run::latency`].
    pub latency: Histogram,
    /// Number of requests, with or without a response.
    pub measured: u64,
    /// Number of requests without a response.
    pub failed: u64,
}

/// Numbers of measured requests without a response, by cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Errors {
    /// Every server that was tried was dead, or no server was left.
    pub refused: u64,
    /// The request's server died.
    pub broken: u64,
    /// Every server was at its limit for too long.
    pub timed_out: u64,
    /// The queue was full.
    pub queue_full: u64,
    /// The request was refused at once, because its wait would have been too long.
    pub hopeless: u64,
    /// The circuit breaker refused the request, because too many earlier ones had failed.
    pub breaker: u64,
}

impl Errors {
    /// Returns the sum of all causes.
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
    /// Returns the exact mean latency in seconds; 0 if no request had a response.
    pub fn mean_s(&self) -> f64 {
        let answered = self.latency.count();
        if answered == 0 { 0.0 } else { self.latency_sum_ns as f64 / answered as f64 / 1e9 }
    }

    /// Returns a quantile of the latency in seconds, accurate to 0.4 percent; 0 if no request had a response.
    pub fn quantile_s(&self, quantile: f64) -> f64 {
        self.latency.quantile(quantile).unwrap_or(0) as f64 / 1e6
    }
}
