use super::{AutoWeightRule, RequestClass, SMOOTHING};

/// What the requests of a pool are: the `a` of the formula, followed slowly. Part of the caller's record of the pool.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct RequestMix {
    /// None before there were enough requests.
    dynamic_share: Option<f64>,
    /// Requests of each class that were too few to say anything yet.
    kept: [u64; RequestClass::COUNT],
}

/// As long as nothing is known.
const EVEN: f64 = 0.5;

impl RequestMix {
    /// Takes up the new requests of each class, of all servers whose weight is found. Too few are kept until they are enough: one
    /// request in a quiet time says nothing of what the others are like.
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

    /// The share of requests that make servers compute, from 0 to 1.
    pub fn dynamic_share(&self) -> f64 {
        self.dynamic_share.unwrap_or(EVEN)
    }
}
