use std::time::Duration;

/// What was measured at one moment. `None` = this was not measured, which is something else than 0.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Sample {
    /// Requests that have come to the pool since its counter began. A counter that goes back has begun anew.
    pub requests: Option<u64>,
    /// Bytes that have gone to clients, likewise.
    pub bytes: Option<u64>,
    /// Requests that servers are working on right now.
    pub active: Option<u64>,
    /// Requests that wait for a server right now.
    pub queued: Option<u64>,
    /// How long the latest requests took.
    pub p95: Option<P95>,
    /// Mean load of the servers' processors as their agents report it, 1 = busy.
    pub cpu: Option<f64>,
}

/// The time within which 95 percent of the latest requests were answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum P95 {
    /// This long.
    Is(Duration),
    /// Most were not answered, or with errors; of the others 95 percent were within this. That may be a reason for more servers,
    /// and is none for fewer.
    AtLeast(Duration),
}

impl P95 {
    /// What is known of it.
    pub const fn known(self) -> Duration {
        match self {
            Self::Is(known) | Self::AtLeast(known) => known,
        }
    }
}

impl Sample {
    /// Only the requests are counted.
    pub fn of_requests(requests: u64) -> Self {
        Self { requests: Some(requests), ..Self::default() }
    }
}
