//! `weight = "auto"`: a server's weight computed from measurements.
//!
//! The formula comes from the published study of weights for heterogeneous clusters: `w = a * Pp + (1 - a) *
//! Pm`. Here `a = dynamic / (dynamic + static)` is the share of requests that make a server compute. Pp is
//! the server's speed at those, and Pm its speed at the others, for which it fetches data. The study takes
//! both from a hardware benchmark. Here they are configured, or come from the service times of the servers'
//! own requests.
//!
//! This module is pure: the caller measures and decides when to update the weights.

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

/// Limits of automatic weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct AutoWeightRule {
    /// Lowest weight.
    pub min: Weight,
    /// Highest weight.
    pub max: Weight,
    /// Requests of a class that a server must have answered before its speed at them is updated, and requests
    /// that the pool must have answered before the mix is updated. Fewer requests are kept until more have
    /// come.
    pub requests_min: u32,
}

/// Configured speeds of a server; 1 = the speed of an average server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct KnownSpeeds {
    /// Speed at requests that make it compute.
    pub processor: Option<Hundredths>,
    /// Speed at requests for which it fetches data.
    pub storage: Option<Hundredths>,
}

/// Measured speed of one server so far. Part of the caller's record of the server.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SpeedEstimate {
    /// Typical service time of each class in microseconds, smoothed; `None` = too few requests yet.
    times_us: [Option<f64>; RequestClass::COUNT],
    /// Requests of each class that were seen but were too few to use yet.
    kept: [u64; RequestClass::COUNT],
}

/// The parts of a weight's computation, for status pages and `weir ctl`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct AutoWeight {
    /// Weight that the server gets.
    pub weight: Weight,
    /// Weight by the formula alone; the actual weight moves towards it.
    pub wanted: f64,
    /// Share of requests that make servers compute.
    pub dynamic_share: f64,
    /// Pp relative to the pool's average; `None` = too few such requests yet.
    pub processor: Option<f64>,
    /// Pm relative to the pool's average; `None` = too few such requests yet.
    pub storage: Option<f64>,
}

/// Weight of a server with average speed. It is large enough to express half and double the speed, and also a
/// tenth more.
pub const AVERAGE_WEIGHT: u32 = 16;

/// Share of the newest window in the smoothed estimate.
const SMOOTHING: f64 = 0.3;
/// Largest change of a weight at one update, as a share of itself; a change of 1 is always possible.
const STEP: f64 = 0.25;
/// Largest ratio of speeds that is accepted, in either direction.
const SPEED_MAX: f64 = 16.0;

impl SpeedEstimate {
    /// Adds the measurements since the last update. Returns the new requests of each class.
    ///
    /// A class with too few requests stays unread until there are enough. So a server that gets few requests
    /// is measured as well, but less often.
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
            // Smooths logarithms, so that twice as slow and twice as fast have the same effect.
            *time_us = Some(match *time_us {
                None => new_us,
                Some(old_us) => (old_us.ln() + SMOOTHING * (new_us.ln() - old_us.ln())).exp(),
            });
            window.requests.saturating_sub(seen)
        })
    }
}

/// Input for one server.
#[derive(Debug, Clone, Copy)]
pub struct Judged<'a> {
    /// Current weight.
    pub weight: Weight,
    /// Configured speeds.
    pub known: KnownSpeeds,
    /// Measured speeds.
    pub estimate: &'a SpeedEstimate,
}

/// Computes the weights of all servers of a pool that have automatic weights; `dynamic_share` is `a`, from 0
/// to 1.
///
/// A server with neither a configured nor a measured speed in a class counts as average in it.
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

/// Returns the geometric mean of the servers' times, in which a server twice as fast and one half as fast
/// balance.
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
