use serde::Serialize;
use weir_model::Millis;

use crate::Algorithm;
use crate::measure::Wants;

/// Options of the algorithms that draw servers or go by measurements; the others do not look at them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct MeasureOptions {
    /// `random` and `least-request`: servers drawn for each request, at least 1.
    pub draws: u8,
    /// `random`: each server drawn differs from the one drawn before it, where there are others.
    pub distinct: bool,
    /// `least-request`: how much requests in flight count against a server, in hundredths; None = 1, and not at all in
    /// the draws that are made where all weights are equal.
    pub bias: Option<Hundredths>,
    /// `peak-ewma`: what an old round trip time fades with, to 1/e within this time.
    pub decay: Millis,
    /// `peak-ewma`: the round trip time that is supposed before there is one.
    pub default_rtt: Millis,
    /// `least-response-time`: so many servers are drawn for each request, and compared; None = all are.
    pub drawn: Option<u8>,
    /// `least-response-time`: what is measured.
    pub until: ResponseEnd,
    /// `least-response-time`: whether requests count that are still waiting.
    pub inflight: bool,
    /// `least-response-time`: after each such time without a request, half of a server's response time is forgiven.
    /// Whole seconds count.
    pub forgive: Millis,
}

/// A number with two digits behind the point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Hundredths(pub u32);

/// Until when a response time counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ResponseEnd {
    /// Until the response's head has come.
    #[default]
    Header,
    /// Until its last byte has come.
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
    /// What an algorithm with these options wants to be measured.
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
    /// As a floating point number.
    pub fn as_f64(self) -> f64 {
        f64::from(self.0) / 100.0
    }
}

impl std::fmt::Display for Hundredths {
    /// `1`, `0.5`, `1.25`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.as_f64())
    }
}
