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
    /// 95 percent of the latest requests were answered within this.
    pub p95: Option<Duration>,
    /// Mean load of the servers' processors as their agents report it, 1 = busy.
    pub cpu: Option<f64>,
}

impl Sample {
    /// Only the requests are counted.
    pub fn of_requests(requests: u64) -> Self {
        Self { requests: Some(requests), ..Self::default() }
    }
}
