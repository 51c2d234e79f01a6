//! `weight = "auto"`: a server's weight from what was measured of it.
//!
//! The formula is that of the published study of weights for heterogeneous clusters: `w = a * Pp + (1 - a) * Pm`, where
//! `a = dynamic / (dynamic + static)` is the share of requests that make a server compute, Pp its speed at those, and Pm its
//! speed at the others, which make it fetch. There, both come from a benchmark of the hardware; here they are given, or
//! come from the service times that the servers' own requests show.
//!
//! Pure: the caller measures and says when to judge.

mod request_mix;
mod service_times;
mod suitability;

use std::fmt;

use serde::Serialize;
use weir_model::Weight;

use crate::Hundredths;

pub use request_mix::RequestMix;
pub use service_times::{ClassWindow, RequestClass, ServiceTimes};
pub use suitability::WeightUse;

/// Between which weights, and from how many requests on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct AutoWeightRule {
    /// Never below it.
    pub min: Weight,
    /// Never above it.
    pub max: Weight,
    /// Requests of a class that a server must have answered for its speed at them to be judged anew, and requests that the pool must have
    /// answered for their mix to be. Fewer are kept until more have come.
    pub requests_min: u32,
}

/// A server's speeds where they are given; 1 = an average server's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct KnownSpeeds {
    /// At requests that make it compute.
    pub processor: Option<Hundredths>,
    /// At requests that make it fetch.
    pub storage: Option<Hundredths>,
}

/// What is known of one server's speed so far. Part of the caller's record of the server.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SpeedEstimate {
    /// Typical service times of each class in microseconds, smoothed; none yet where there were too few requests.
    times_us: [Option<f64>; RequestClass::COUNT],
    /// Requests of each class that have been seen, but were too few to say anything yet.
    kept: [u64; RequestClass::COUNT],
}

/// Why a weight is what it is: for status pages and `weir ctl`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct AutoWeight {
    /// What the server gets.
    pub weight: Weight,
    /// What the formula alone says now; the weight moves towards it.
    pub wanted: f64,
    /// The share of requests that make servers compute.
    pub dynamic_share: f64,
    /// Pp, in relation to the pool's average; none as long as too few such requests were seen.
    pub processor: Option<f64>,
    /// Pm, likewise.
    pub storage: Option<f64>,
}

/// A server of average speed weighs this: half as fast and twice as fast can be told apart, and so can a tenth more.
pub const AVERAGE_WEIGHT: u32 = 16;

/// Of the newest window, this much goes into the estimate.
const SMOOTHING: f64 = 0.3;
/// A weight moves by no more than this share of itself (and at least by 1) when it is judged.
const STEP: f64 = 0.25;
/// Nobody is believed to be faster or slower than this by comparison.
const SPEED_MAX: f64 = 16.0;

impl SpeedEstimate {
    /// Takes up what was measured since the last judgement; of a class in which that is too little, it stays until it is
    /// enough: so a server that gets few requests is measured, too, if less often. Returns the new requests of each class.
    pub fn learn(&mut self, rule: &AutoWeightRule, times: &ServiceTimes) -> [u64; RequestClass::COUNT] {
        RequestClass::ALL.map(|class| {
            let seen = std::mem::take(&mut self.kept[class as usize]);
            let requests = times.requests(class);
            if requests < u64::from(rule.requests_min.max(1)) {
                self.kept[class as usize] = requests;
                return requests.saturating_sub(seen);
            }
            let window = times.take(class);
            let new_us = window.typical_us.max(1.0);
            let time_us = &mut self.times_us[class as usize];
            // On a scale of ratios: twice as slow and twice as fast count alike.
            *time_us = Some(match *time_us {
                None => new_us,
                Some(old_us) => (old_us.ln() + SMOOTHING * (new_us.ln() - old_us.ln())).exp(),
            });
            window.requests.saturating_sub(seen)
        })
    }
}

/// One server, as it is judged.
#[derive(Debug, Clone, Copy)]
pub struct Judged<'a> {
    /// What it weighs now.
    pub weight: Weight,
    /// Its speeds, where they are given.
    pub known: KnownSpeeds,
    /// Its speeds, as far as they were measured.
    pub estimate: &'a SpeedEstimate,
}

/// Judges all servers of a pool whose weight is found; `dynamic_share` is `a`, from 0 to 1.
///
/// A class in which a server has neither a given nor a measured speed counts as average for it.
pub fn weigh(rule: &AutoWeightRule, dynamic_share: f64, servers: &[Judged<'_>]) -> Vec<AutoWeight> {
    let share = if dynamic_share.is_finite() { dynamic_share.clamp(0.0, 1.0) } else { 0.5 };
    let averages = [RequestClass::Dynamic, RequestClass::Static].map(|class| average_us(class, servers));
    let judge = |server: &Judged<'_>| {
        let measured = |class: RequestClass| {
            let time_us = server.estimate.times_us[class as usize]?;
            Some((averages[class as usize]? / time_us).clamp(1.0 / SPEED_MAX, SPEED_MAX))
        };
        let processor =
            server.known.processor.map(Hundredths::as_f64).or_else(|| measured(RequestClass::Dynamic));
        let storage = server.known.storage.map(Hundredths::as_f64).or_else(|| measured(RequestClass::Static));
        let speed = share * processor.unwrap_or(1.0) + (1.0 - share) * storage.unwrap_or(1.0);
        let wanted = speed * f64::from(AVERAGE_WEIGHT);
        let weight = step(rule, server.weight, wanted);
        AutoWeight { weight, wanted, dynamic_share: share, processor, storage }
    };
    servers.iter().map(judge).collect()
}

/// The geometric mean of the servers' times: then a server that is twice as fast and one that is half as fast balance.
fn average_us(class: RequestClass, servers: &[Judged<'_>]) -> Option<f64> {
    let times = || servers.iter().filter_map(|server| server.estimate.times_us[class as usize]);
    let count = times().count();
    (count > 0).then(|| (times().map(f64::ln).sum::<f64>() / count as f64).exp())
}

fn step(rule: &AutoWeightRule, now: Weight, wanted: f64) -> Weight {
    let from = f64::from(now.get());
    let most = (from * STEP).max(1.0);
    let moved = wanted.clamp(from - most, from + most).round();
    let (min, max) = (rule.min.get().max(1), rule.max.get().max(rule.min.get()).max(1));
    Weight::new((moved as u32).clamp(min, max)).unwrap_or(now)
}

impl fmt::Display for AutoWeight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let speed =
            |speed: Option<f64>| speed.map_or("not known yet".to_owned(), |speed| format!("{speed:.2}"));
        write!(
            f,
            "{} = {AVERAGE_WEIGHT} x ({:.2} x Pp + {:.2} x Pm), Pp {}, Pm {}",
            self.weight,
            self.dynamic_share,
            1.0 - self.dynamic_share,
            speed(self.processor),
            speed(self.storage)
        )?;
        if (self.wanted - f64::from(self.weight.get())).abs() >= 1.0 {
            write!(f, "; on its way to {:.0}", self.wanted)?;
        }
        Ok(())
    }
}
