//! The state of servers in a snapshot.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Traffic;
use crate::{AdminState, Origin};

/// State of a server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServerSnapshot {
    /// Name, unique in its pool.
    pub name: String,
    /// Listening address, as configured or changed at runtime.
    pub address: String,
    /// Weight, as configured, changed at runtime or automatic.
    pub weight: u32,
    /// Explanation of an automatic weight (`weight = "auto"`); `None` = the weight was set.
    pub weight_reason: Option<String>,
    /// Current weight, rounded up; 0 while it takes nothing.
    pub effective_weight: u32,
    /// Part of its weight that counts right now, in percent: slow start, agent, zone and subset. `None` = all
    /// of it.
    pub weight_percent: Option<u32>,
    /// True if it could take requests but others are preferred, by priority, zone or subset.
    pub stands_by: bool,
    /// Priority group. The server gets requests only when no server with a lower number can.
    pub priority: u16,
    /// Zone of the server.
    pub zone: Option<String>,
    /// True for a backup server, which gets requests only when no other server can.
    pub backup: bool,
    /// Source of its definition.
    pub origin: Origin,
    /// Fleet of the server; `None` = none.
    pub fleet: Option<String>,
    /// Fields changed at runtime: any of `state`, `weight`, `address`.
    pub overridden: Vec<String>,
    /// State set by the operator.
    pub admin: AdminState,
    /// Health according to checks and traffic.
    pub health: Health,
    /// Result of the last check; `None` = not checked (yet).
    pub check: Option<CheckSnapshot>,
    /// Last report of its agent; `None` = it has none, or there is no report yet.
    pub agent: Option<AgentSnapshot>,
    /// Number of failed checks.
    pub check_failures: u64,
    /// Number of times it went down.
    pub times_down: u64,
    /// Number of times traffic ejected it.
    pub ejections: u64,
    /// Time since its state last changed.
    pub changed_ms_ago: u64,
    /// Total time for which it was down.
    pub downtime_ms: u64,
    /// Traffic of the server.
    pub traffic: Traffic,
    /// Open connections to it without a request.
    pub connections_idle: u64,
    /// Open connections to it with a request.
    pub connections_used: u64,
}

/// Health of a server according to checks and traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Health {
    /// Not checked; counts as up.
    #[default]
    NoCheck,
    /// Up.
    Up,
    /// Still up, but the last checks failed.
    GoingDown {
        /// Number of consecutive failures.
        failures: u32,
        /// Number of failures that take it down.
        fall: u32,
    },
    /// Down.
    Down,
    /// Still down, but the last checks succeeded.
    GoingUp {
        /// Number of consecutive successes.
        successes: u32,
        /// Number of successes that bring it up.
        rise: u32,
    },
    /// Ejected for a while because of real traffic.
    Ejected {
        /// Remaining time.
        remaining_ms: u64,
    },
    /// Back after an ejection, for a few requests at a time.
    HalfOpen {
        /// Number of these requests that have succeeded.
        successes: u32,
        /// Number of successes that end this state.
        of: u32,
    },
}

/// Result of the last check of a server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CheckSnapshot {
    /// Kind of result.
    pub code: CheckCode,
    /// HTTP status, if there was one.
    pub status: Option<u16>,
    /// Details for people.
    pub text: String,
    /// Duration of the check.
    pub duration_us: u64,
    /// Time since it ended.
    pub ms_ago: u64,
}

/// Last report of a server's agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentSnapshot {
    /// Current state in the agent's words: `up ready 75%`.
    pub says: String,
    /// Last comment of the agent, or the reason for a missing report.
    pub remark: String,
    /// True if the agent did not answer last time.
    pub is_silent: bool,
    /// Part of the server's weight that counts according to the agent, in percent; `None` = all of it.
    pub weight_percent: Option<u32>,
    /// True if the agent, but not the operator, keeps the server out of rotation.
    pub keeps_out: bool,
    /// Load of the server's processors in the last report: 100 = all of them busy. `None` = not reported.
    pub cpu_percent: Option<u32>,
    /// Time since the agent was asked.
    pub ms_ago: u64,
}

/// Result of a check, by the layer that decided it (HAProxy's names).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum CheckCode {
    /// Not known.
    #[default]
    #[serde(rename = "UNK")]
    Unknown,
    /// The first check has not ended yet.
    #[serde(rename = "INI")]
    Initializing,
    /// A socket could not be created, or the name not resolved.
    #[serde(rename = "SOCKERR")]
    SocketError,
    /// TCP: connected.
    #[serde(rename = "L4OK")]
    L4Ok,
    /// TCP: timeout.
    #[serde(rename = "L4TOUT")]
    L4Timeout,
    /// TCP: refused, or unreachable.
    #[serde(rename = "L4CON")]
    L4Refused,
    /// TLS: the handshake was completed.
    #[serde(rename = "L6OK")]
    L6Ok,
    /// TLS: timeout of the handshake.
    #[serde(rename = "L6TOUT")]
    L6Timeout,
    /// TLS: the handshake failed.
    #[serde(rename = "L6RSP")]
    L6Failed,
    /// HTTP: the response was as expected.
    #[serde(rename = "L7OK")]
    L7Ok,
    /// HTTP: timeout of the response.
    #[serde(rename = "L7TOUT")]
    L7Timeout,
    /// HTTP: the response was malformed.
    #[serde(rename = "L7RSP")]
    L7Broken,
    /// HTTP: the status, header or body was not the expected one.
    #[serde(rename = "L7STS")]
    L7Unexpected,
}

impl ServerSnapshot {
    /// Returns true if the server is in rotation.
    pub fn takes_requests(&self) -> bool {
        self.admin == AdminState::Ready && self.health.usable() && self.weight > 0
    }
}

impl Health {
    /// Returns true if its health allows requests.
    pub const fn usable(self) -> bool {
        matches!(self, Self::NoCheck | Self::Up | Self::GoingDown { .. } | Self::HalfOpen { .. })
    }
}

impl CheckCode {
    /// Returns HAProxy's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unknown => "UNK",
            Self::Initializing => "INI",
            Self::SocketError => "SOCKERR",
            Self::L4Ok => "L4OK",
            Self::L4Timeout => "L4TOUT",
            Self::L4Refused => "L4CON",
            Self::L6Ok => "L6OK",
            Self::L6Timeout => "L6TOUT",
            Self::L6Failed => "L6RSP",
            Self::L7Ok => "L7OK",
            Self::L7Timeout => "L7TOUT",
            Self::L7Broken => "L7RSP",
            Self::L7Unexpected => "L7STS",
        }
    }

    /// Returns true if the check succeeded.
    pub const fn passed(self) -> bool {
        matches!(self, Self::L4Ok | Self::L6Ok | Self::L7Ok)
    }
}

impl fmt::Display for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoCheck => f.write_str("no check"),
            Self::Up => f.write_str("up"),
            Self::GoingDown { failures, fall } => write!(f, "up, {failures}/{fall} failed"),
            Self::Down => f.write_str("down"),
            Self::GoingUp { successes, rise } => write!(f, "down, {successes}/{rise} passed"),
            Self::Ejected { remaining_ms } => write!(f, "ejected {}s", remaining_ms.div_ceil(1_000)),
            Self::HalfOpen { successes, of } => write!(f, "half open, {successes}/{of} passed"),
        }
    }
}
