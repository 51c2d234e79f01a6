use serde::{Deserialize, Serialize};

use super::Tone;
use super::{Latency, Level, Protocol, ServerSnapshot, StickySnapshot, Traffic};

/// A pool and its servers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PoolSnapshot {
    /// Its name.
    pub name: String,
    /// How it chooses.
    pub algorithm: String,
    /// What its servers speak.
    pub protocol: Protocol,
    /// All of its servers together, those that were removed included.
    pub traffic: Traffic,
    /// Requests that wait for a server.
    pub queue: Level,
    /// Requests that had to wait.
    pub queued_total: u64,
    /// How long they waited.
    pub queue_time: Latency,
    /// How long the one has been waiting who waits longest.
    pub queue_longest_ms: u64,
    /// Requests that were refused because as many waited as may.
    pub queue_full: u64,
    /// Requests that were refused because their wait would have been too long.
    pub queue_hopeless: u64,
    /// Requests whose clients were sent on to a server themselves (`redirect`).
    pub sent_on: u64,
    /// Second tries beside a slow first one.
    pub hedges: u64,
    /// Of these, those whose response was passed on.
    pub hedges_won: u64,
    /// Responses in whose place a file was sent that the server named, and uploads that were stored for it.
    pub offloads: u64,
    /// Responses that named a file which could not be sent, or a place where an upload could not be stored.
    pub offloads_failed: u64,
    /// How its breaker stands; `None` = it has none.
    pub breaker: Option<BreakerSnapshot>,
    /// Requests for which no server was left.
    pub nobody_left: u64,
    /// Requests that were refused because every server was at its limit: at once, or after they had waited.
    pub busy: u64,
    /// Retries that the budget did not permit.
    pub retries_denied: u64,
    /// How clients stay with its servers; `None` = each request is balanced by itself.
    pub sticky: Option<StickySnapshot>,
    /// Since it last became usable or unusable.
    pub changed_ms_ago: u64,
    /// How long it was unusable, in all.
    pub downtime_ms: u64,
    /// How often it became unusable.
    pub times_down: u64,
    /// In the pool's order.
    pub servers: Vec<ServerSnapshot>,
}

/// How a pool's breaker stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BreakerSnapshot {
    /// Whether requests pass.
    pub state: BreakerStatus,
    /// How long it stays open; 0 unless it is.
    pub remaining_ms: u64,
    /// How often it has opened.
    pub opened: u64,
    /// Requests that it has refused.
    pub refused: u64,
}

/// Whether requests pass a breaker.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BreakerStatus {
    /// All do.
    #[default]
    Closed,
    /// None does.
    Open,
    /// Some do, to find out.
    HalfOpen,
}

impl BreakerStatus {
    /// The name in listings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open => "open",
            Self::HalfOpen => "half open",
        }
    }
}

/// Whether a pool can answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PoolStatus {
    /// At least one ordinary server takes requests.
    Up,
    /// Only backup servers do.
    Backup,
    /// No server does.
    Down,
}

impl PoolSnapshot {
    /// Whether it can answer.
    pub fn status(&self) -> PoolStatus {
        let (ordinary, backup) = self.usable();
        match (ordinary, backup) {
            (0, 0) => PoolStatus::Down,
            (0, _) => PoolStatus::Backup,
            _ => PoolStatus::Up,
        }
    }

    /// How good it is: a pool that is up is not good while one of its servers is down.
    pub fn tone(&self) -> Tone {
        let is_bad = |server: &ServerSnapshot| server.state().tone() == Tone::Bad;
        match self.status().tone() {
            Tone::Good if self.servers.iter().any(is_bad) => Tone::Warning,
            tone => tone,
        }
    }

    /// How many ordinary and backup servers take requests.
    pub fn usable(&self) -> (usize, usize) {
        let usable = |backup: bool| {
            self.servers.iter().filter(|server| server.backup == backup && server.takes_requests()).count()
        };
        (usable(false), usable(true))
    }
}

impl PoolStatus {
    /// The name in listings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Backup => "backup",
            Self::Down => "down",
        }
    }
}
