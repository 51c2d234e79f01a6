//! Options of the algorithms that draw servers at random or use measurements, and their defaults.

use serde::Serialize;
use weir_model::Millis;

use crate::Algorithm;
use crate::measure::Wants;

/// Options of the algorithms that draw servers at random or use measurements; the other algorithms ignore
/// them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct MeasureOptions {
    /// `random` and `least-request`: number of servers drawn for each request, at least 1.
    pub draws: u8,
    /// `random`: true if each drawn server differs from the one drawn before it, where the pool has others.
    pub distinct: bool,
    /// `least-request`: the exponent of a server's active requests, in hundredths. `None` = 1, and no bias
    /// for the draws that are made when all weights are equal.
    pub bias: Option<Hundredths>,
    /// `peak-ewma`: time in which an old round trip time decays to 1/e.
    pub decay: Millis,
    /// `peak-ewma`: round trip time assumed before the first measurement.
    pub default_rtt: Millis,
    /// `least-response-time`: number of servers drawn and compared for each request; `None` = compare all.
    pub drawn: Option<u8>,
    /// `least-response-time`: the part of a response that is measured.
    pub until: ResponseEnd,
    /// `least-response-time`: true if requests that still wait for their response count.
    pub inflight: bool,
    /// `least-response-time`: a server's response time is halved for each such interval without a request.
    /// Only whole seconds count.
    pub forgive: Millis,
}

/// A number with two decimal places.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Hundredths(pub u32);

/// The end of the measured response time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ResponseEnd {
    /// The arrival of the response's head.
    #[default]
    Header,
    /// The arrival of the response's last byte.
    LastByte,
}

impl Default for MeasureOptions {
    fn default() -> Self {
        Self {
            draws: 2,
            distinct: false,
            bias: None,
            decay: Millis::from_secs(10),
            default_rtt: Millis(10),
            drawn: None,
            until: ResponseEnd::Header,
            inflight: false,
            forgive: Millis::from_secs(10),
        }
    }
}

impl MeasureOptions {
    /// Returns the measurements that `algorithm` needs with these options.
    pub(crate) fn wants(&self, algorithm: Algorithm) -> Wants {
        match algorithm {
            Algorithm::PeakEwma => Wants { round_trip_decay_ms: Some(self.decay.0), ..Wants::default() },
            Algorithm::LeastResponseTime => Wants {
                head: self.until == ResponseEnd::Header,
                whole: self.until == ResponseEnd::LastByte,
                waiting: self.inflight,
                ..Wants::default()
            },
            Algorithm::LeastBandwidth => Wants { bytes: true, ..Wants::default() },
            _ => Wants::default(),
        }
    }
}

impl Hundredths {
    /// Converts to a floating point number.
    pub fn as_f64(self) -> f64 {
        f64::from(self.0) / 100.0
    }
}

impl std::fmt::Display for Hundredths {
    /// Writes the shortest form: `1`, `0.5`, `1.25`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.as_f64())
    }
}
