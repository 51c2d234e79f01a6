//! Adaptive concurrency: a limit on a server's requests that follows its latency.
//!
//! This module is pure: the caller reports each ended request; times are microseconds of any steady clock.
//! The queue handles requests over the limit.

mod baseline;
mod window;

use std::time::Duration;

use serde::Serialize;

use baseline::Baseline;
use window::{Sample, Window};

/// Rule that determines a server's limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ConcurrencyRule {
    /// Algorithm that computes the limit.
    pub algorithm: ConcurrencyAlgorithm,
    /// Lower bound of the limit, at least 1.
    pub min: u32,
    /// Upper bound of the limit.
    pub max: u32,
}

/// Algorithm of an adaptive limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConcurrencyAlgorithm {
    /// Compares the latency without load to the current latency, as Netflix's Gradient2Limit
    /// (concurrency-limits) does: `gradient = (1 + tolerance) * unloaded / latency`, kept within 0.5 to 1;
    /// then `limit = 0.8 * limit + 0.2 * (limit * gradient + sqrt(limit))`. The square root is the room for a
    /// queue.
    ///
    /// In Gradient2Limit, "unloaded" is a long average, which a long overload increases. Here it is measured
    /// as in Envoy's adaptive concurrency filter (minRTT): it is the smallest latency of the last minute, and
    /// the limit is halved for a moment now and then to measure it.
    ///
    /// The server must be unloaded at half of the limit. Below a capacity of about eight requests it is not,
    /// because of the room for a queue; the limit may then settle at several times the capacity. Give such a
    /// server a fixed limit.
    Gradient {
        /// Percentage by which latency may exceed that of the unloaded server before the limit falls.
        tolerance_percent: u8,
    },
    /// Additive increase, multiplicative decrease (Chiu and Jain 1989; Netflix's AIMDLimit).
    ///
    /// The limit grows by one while latency is good and at least half of the limit is in use; else it falls
    /// by a tenth.
    Aimd {
        /// Mean latency that is too high, in microseconds.
        latency_max_us: u64,
    },
}

/// Adaptive limit of one server.
#[derive(Debug, Clone)]
pub struct Concurrency {
    limit: f64,
    window: Window,
    baseline: Baseline,
}

impl ConcurrencyRule {
    /// Returns true if a latency is too high independently of earlier measurements. With the gradient this
    /// depends on the server, so it returns false.
    pub fn is_too_long(&self, latency: Duration) -> bool {
        match self.algorithm {
            ConcurrencyAlgorithm::Gradient { .. } => false,
            ConcurrencyAlgorithm::Aimd { latency_max_us } => latency.as_micros() > u128::from(latency_max_us),
        }
    }
}

/// Initial limit, if the rule permits it.
const START: u32 = 20;
const SMOOTHING: f64 = 0.2;
const BACKOFF: f64 = 0.9;

impl Concurrency {
    /// Creates the limit of a server without measurements.
    pub fn new(rule: &ConcurrencyRule) -> Self {
        Self {
            limit: START.clamp(rule.min.max(1), rule.max.max(rule.min).max(1)).into(),
            window: Window::default(),
            baseline: Baseline::default(),
        }
    }

    /// Returns the number of requests that the server may have now.
    pub fn limit(&self, rule: &ConcurrencyRule) -> u32 {
        let limit = if self.baseline.is_being_measured() { self.limit / 2.0 } else { self.limit };
        (limit as u32).clamp(rule.min.max(1), rule.max.max(rule.min).max(1))
    }

    /// Records an ended request. `in_flight` includes it; a failed request counts as bad whatever its
    /// latency. Returns true if the limit was updated.
    pub fn ended(
        &mut self,
        rule: &ConcurrencyRule,
        now_us: u64,
        latency_us: u64,
        in_flight: u32,
        failed: bool,
    ) -> bool {
        let Some(sample) = self.window.add(now_us, latency_us, in_flight, failed) else { return false };
        match rule.algorithm {
            ConcurrencyAlgorithm::Gradient { tolerance_percent } => {
                self.judge_gradient(tolerance_percent, now_us, &sample);
            }
            ConcurrencyAlgorithm::Aimd { latency_max_us } => self.judge_aimd(latency_max_us, &sample),
        }
        self.limit = self.limit.clamp(rule.min.max(1).into(), rule.max.max(rule.min).max(1).into());
        true
    }

    fn judge_gradient(&mut self, tolerance_percent: u8, now_us: u64, sample: &Sample) {
        let was_being_measured = self.baseline.is_being_measured();
        let unloaded_us = sample.mean_us.map(|mean_us| self.baseline.learn(now_us, mean_us));
        if sample.failures * 2 > sample.requests {
            self.limit *= BACKOFF;
            return;
        }
        let (Some(mean_us), Some(unloaded_us)) = (sample.mean_us, unloaded_us) else { return };
        // A measurement at half the limit does not judge the limit itself; nor does one while the limit is
        // not used.
        if was_being_measured || f64::from(sample.in_flight_max) < self.limit / 2.0 {
            return;
        }
        let tolerance = 1.0 + f64::from(tolerance_percent) / 100.0;
        let gradient = (tolerance * unloaded_us / mean_us.max(1.0)).clamp(0.5, 1.0);
        let wanted = self.limit * gradient + self.limit.sqrt();
        self.limit += SMOOTHING * (wanted - self.limit);
    }

    fn judge_aimd(&mut self, latency_max_us: u64, sample: &Sample) {
        if sample.failures * 2 > sample.requests
            || sample.mean_us.is_some_and(|mean_us| mean_us > latency_max_us as f64)
        {
            self.limit *= BACKOFF;
        } else if f64::from(sample.in_flight_max) * 2.0 >= self.limit {
            self.limit += 1.0;
        }
    }
}
