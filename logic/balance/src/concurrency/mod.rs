//! How many requests a server takes well: a limit that follows its latency.
//!
//! Pure: the caller tells when a request has ended, and how; time is microseconds of any steady clock. What happens
//! over the limit is the queue's matter.

mod baseline;
mod window;

use std::time::Duration;

use serde::Serialize;

use baseline::Baseline;
use window::{Sample, Window};

/// How a server's limit is found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ConcurrencyRule {
    /// By what.
    pub algorithm: ConcurrencyAlgorithm,
    /// The limit is never below this. At least 1.
    pub min: u32,
    /// And never above this.
    pub max: u32,
}

/// What a limit goes by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConcurrencyAlgorithm {
    /// The ratio of the latency without load to the latency now, as Netflix's Gradient2Limit (concurrency-limits) has
    /// it: `gradient = (1 + tolerance) * unloaded / latency`, kept within 0.5 to 1; then
    /// `limit = 0.8 * limit + 0.2 * (limit * gradient + sqrt(limit))`, the root being the room for a queue.
    ///
    /// There, "unloaded" is a long average, which a long overload draws up with it. Here it is measured as Envoy's
    /// adaptive concurrency filter does (minRTT): as the smallest latency of the last minute, for which the limit is
    /// halved for a moment now and then. Half of the limit must leave the server unloaded for that: with the room for a queue
    /// it does not where the capacity is below some eight requests, and the limit may then settle at several times the
    /// capacity. Such a server is given its limit, not measured.
    Gradient {
        /// By how much latency may exceed that of the unloaded server before the limit falls, in percent.
        tolerance_percent: u8,
    },
    /// Additive increase, multiplicative decrease (Chiu and Jain 1989; Netflix's AIMDLimit): one more while latency is
    /// good and the limit is used at least by half, else a tenth less.
    Aimd {
        /// The mean latency that is too much, in microseconds.
        latency_max_us: u64,
    },
}

/// One server's limit.
#[derive(Debug, Clone)]
pub struct Concurrency {
    limit: f64,
    window: Window,
    baseline: Baseline,
}

impl ConcurrencyRule {
    /// Whether a latency is too much whatever was measured before. What that is by the gradient depends on the server.
    pub fn is_too_long(&self, latency: Duration) -> bool {
        match self.algorithm {
            ConcurrencyAlgorithm::Gradient { .. } => false,
            ConcurrencyAlgorithm::Aimd { latency_max_us } => latency.as_micros() > u128::from(latency_max_us),
        }
    }
}

/// A limit begins here, if the rule permits.
const START: u32 = 20;
const SMOOTHING: f64 = 0.2;
const BACKOFF: f64 = 0.9;

impl Concurrency {
    /// A limit for a server of which nothing is known.
    pub fn new(rule: &ConcurrencyRule) -> Self {
        Self {
            limit: START.clamp(rule.min.max(1), rule.max.max(rule.min).max(1)).into(),
            window: Window::default(),
            baseline: Baseline::default(),
        }
    }

    /// How many requests the server may have now.
    pub fn limit(&self, rule: &ConcurrencyRule) -> u32 {
        let limit = if self.baseline.is_being_measured() { self.limit / 2.0 } else { self.limit };
        (limit as u32).clamp(rule.min.max(1), rule.max.max(rule.min).max(1))
    }

    /// A request has ended. `in_flight` counts it. A failed one counts as bad by any measure. Whether the limit was
    /// judged anew.
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
        // What is measured at half the limit says nothing about the limit; nor does what nobody uses.
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
