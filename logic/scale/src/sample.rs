//! Measurements at one moment.

use std::time::Duration;

/// Measurements at one moment. `None` = not measured, which differs from 0.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Sample {
    /// Requests to the pool since its counter began. A lower value than before means that the counter was
    /// reset.
    pub requests: Option<u64>,
    /// Bytes sent to clients since the counter began.
    pub bytes: Option<u64>,
    /// Requests in progress on servers.
    pub active: Option<u64>,
    /// Queued requests.
    pub queued: Option<u64>,
    /// Latency of the latest requests.
    pub p95: Option<P95>,
    /// Mean CPU load of the servers as their agents report it, 1 = fully busy.
    pub cpu: Option<f64>,
}

/// 95th percentile of the latency of the latest requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum P95 {
    /// The exact value.
    Is(Duration),
    /// A lower bound: most requests got no answer or an error, and this is the 95th percentile of the others.
    /// It may be a reason for more servers, never for fewer.
    AtLeast(Duration),
}

impl P95 {
    /// Returns the known value, exact or a lower bound.
    pub const fn known(self) -> Duration {
        match self {
            Self::Is(known) | Self::AtLeast(known) => known,
        }
    }
}

impl Sample {
    /// Creates a sample that holds only the requests.
    pub fn of_requests(requests: u64) -> Self {
        Self { requests: Some(requests), ..Self::default() }
    }
}
