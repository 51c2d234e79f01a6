//! The state of pools in a snapshot.

use serde::{Deserialize, Serialize};

use super::Tone;
use super::{Latency, Level, Protocol, ServerSnapshot, StickySnapshot, Traffic};

/// State of a pool and its servers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PoolSnapshot {
    /// Name of the pool.
    pub name: String,
    /// Name of the algorithm.
    pub algorithm: String,
    /// Protocol of its servers.
    pub protocol: Protocol,
    /// Traffic of all its servers together, including removed ones.
    pub traffic: Traffic,
    /// Requests that wait for a server.
    pub queue: Level,
    /// Requests that had to wait.
    pub queued_total: u64,
    /// Time for which they waited.
    pub queue_time: Latency,
    /// Time for which the longest-waiting request has been waiting.
    pub queue_longest_ms: u64,
    /// Requests refused because the queue was full.
    pub queue_full: u64,
    /// Requests refused because their wait would have been too long.
    pub queue_hopeless: u64,
    /// Requests whose clients were redirected to a server (`redirect`).
    pub sent_on: u64,
    /// Hedged requests: second tries in parallel to a slow first one.
    pub hedges: u64,
    /// Hedged requests whose response was used.
    pub hedges_won: u64,
    /// Responses replaced by a file that the server named, and uploads stored for a server.
    pub offloads: u64,
    /// Responses that named a file that could not be sent, or a place where an upload could not be stored.
    pub offloads_failed: u64,
    /// State of its circuit breaker; `None` = it has none.
    pub breaker: Option<BreakerSnapshot>,
    /// Requests for which no server was left.
    pub nobody_left: u64,
    /// Requests refused because every server was at its limit, at once or after a wait.
    pub busy: u64,
    /// Retries that the retry budget did not permit.
    pub retries_denied: u64,
    /// State of its stickiness; `None` = each request is balanced on its own.
    pub sticky: Option<StickySnapshot>,
    /// Time since it last became usable or unusable.
    pub changed_ms_ago: u64,
    /// Total time for which it was unusable.
    pub downtime_ms: u64,
    /// Number of times it became unusable.
    pub times_down: u64,
    /// Servers in the pool's order.
    pub servers: Vec<ServerSnapshot>,
}

/// State of a pool's circuit breaker.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BreakerSnapshot {
    /// State of the breaker.
    pub state: BreakerStatus,
    /// Time for which it stays open; 0 unless it is open.
    pub remaining_ms: u64,
    /// Number of times it has opened.
    pub opened: u64,
    /// Requests that it refused.
    pub refused: u64,
}

/// State of a circuit breaker.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BreakerStatus {
    /// All requests pass.
    #[default]
    Closed,
    /// No request passes.
    Open,
    /// Some requests pass, as a test.
    HalfOpen,
}

impl BreakerStatus {
    /// Returns the name in listings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open => "open",
            Self::HalfOpen => "half open",
        }
    }
}

/// Availability of a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PoolStatus {
    /// At least one ordinary server takes requests.
    Up,
    /// Only backup servers take requests.
    Backup,
    /// No server takes requests.
    Down,
}

impl PoolSnapshot {
    /// Returns the availability.
    pub fn status(&self) -> PoolStatus {
        let (ordinary, backup) = self.usable();
        match (ordinary, backup) {
            (0, 0) => PoolStatus::Down,
            (0, _) => PoolStatus::Backup,
            _ => PoolStatus::Up,
        }
    }

    /// Returns the severity of its state. A pool that is up has a warning while one of its servers is down.
    pub fn tone(&self) -> Tone {
        let is_bad = |server: &ServerSnapshot| server.state().tone() == Tone::Bad;
        match self.status().tone() {
            Tone::Good if self.servers.iter().any(is_bad) => Tone::Warning,
            tone => tone,
        }
    }

    /// Returns the numbers of ordinary and backup servers that take requests.
    pub fn usable(&self) -> (usize, usize) {
        let usable = |backup: bool| {
            self.servers.iter().filter(|server| server.backup == backup && server.takes_requests()).count()
        };
        (usable(false), usable(true))
    }
}

impl PoolStatus {
    /// Returns the name in listings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Backup => "backup",
            Self::Down => "down",
        }
    }
}
