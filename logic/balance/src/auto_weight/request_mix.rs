//! The share of a pool's requests that make servers compute.

use super::{AutoWeightRule, RequestClass, SMOOTHING};

/// Mix of a pool's requests: the `a` of the formula, smoothed. Part of the caller's record of the pool.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RequestMix {
    /// Smoothed share; `None` = too few requests yet.
    dynamic_share: Option<f64>,
    /// Requests of each class that were too few to use yet.
    kept: [u64; RequestClass::COUNT],
}

/// Share assumed while there is no measurement.
const EVEN: f64 = 0.5;

impl RequestMix {
    /// Adds the new requests of each class, of all servers with automatic weights. Too few requests are kept
    /// until there are enough, because one request in a quiet time does not represent the others.
    pub fn learn(&mut self, rule: &AutoWeightRule, new: [u64; RequestClass::COUNT]) {
        for (kept, new) in self.kept.iter_mut().zip(new) {
            *kept += new;
        }
        let requests: u64 = self.kept.iter().sum();
        if requests < u64::from(rule.requests_min.max(1)) {
            return;
        }
        let share = self.kept[RequestClass::Dynamic as usize] as f64 / requests as f64;
        self.dynamic_share = Some(match self.dynamic_share {
            None => share,
            Some(old) => old + SMOOTHING * (share - old),
        });
        self.kept = [0; RequestClass::COUNT];
    }

    /// Returns the share of requests that make servers compute, from 0 to 1.
    pub fn dynamic_share(&self) -> f64 {
        self.dynamic_share.unwrap_or(EVEN)
    }
}
