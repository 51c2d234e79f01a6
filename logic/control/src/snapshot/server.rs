use std::fmt;

use serde::{Deserialize, Serialize};

use super::Traffic;
use crate::{AdminState, Origin};

/// A server.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServerSnapshot {
    /// Its name, unique in its pool.
    pub name: String,
    /// Where it listens, as configured or changed at runtime.
    pub address: String,
    /// Its share, as configured, changed at runtime or found by measurement.
    pub weight: u32,
    /// How its weight was found (`weight = "auto"`); `None` = it was given.
    pub weight_reason: Option<String>,
    /// Its share right now, rounded up; 0 while it takes nothing.
    pub effective_weight: u32,
    /// What counts of its weight right now, in percent: slow start, agent, zone and subset. `None` = all of it.
    pub weight_percent: Option<u32>,
    /// It could take requests, but others are preferred: by priority, zone or subset.
    pub stands_by: bool,
    /// Gets requests only when no server of a lower number can.
    pub priority: u16,
    /// Where it is.
    pub zone: Option<String>,
    /// Gets requests only when no other server can.
    pub backup: bool,
    /// Who defined it.
    pub origin: Origin,
    /// The fleet that it belongs to; `None` = none.
    pub fleet: Option<String>,
    /// What was changed at runtime: any of `state`, `weight`, `address`.
    pub overridden: Vec<String>,
    /// What the operator wants.
    pub admin: AdminState,
    /// What checks and traffic say.
    pub health: Health,
    /// The last check; `None` = not checked (yet).
    pub check: Option<CheckSnapshot>,
    /// What its agent has said; `None` = it has none, or it was not asked yet.
    pub agent: Option<AgentSnapshot>,
    /// Checks that failed.
    pub check_failures: u64,
    /// How often it went down.
    pub times_down: u64,
    /// How often traffic ejected it.
    pub ejections: u64,
    /// Since its state last changed.
    pub changed_ms_ago: u64,
    /// How long it was down, in all.
    pub downtime_ms: u64,
    /// What it got.
    pub traffic: Traffic,
    /// Connections to it that wait for a request.
    pub connections_idle: u64,
    /// Connections to it that carry one.
    pub connections_used: u64,
}

/// What checks and traffic say of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Health {
    /// It is not checked, and counts as up.
    #[default]
    NoCheck,
    /// Up.
    Up,
    /// Still up, but its last checks failed.
    GoingDown {
        /// How many in a row.
        failures: u32,
        /// How many take it down.
        fall: u32,
    },
    /// Down.
    Down,
    /// Still down, but its last checks succeeded.
    GoingUp {
        /// How many in a row.
        successes: u32,
        /// How many bring it up.
        rise: u32,
    },
    /// Real traffic put it out for a while.
    Ejected {
        /// How much longer.
        remaining_ms: u64,
    },
    /// Back after real traffic put it out, for a few requests at once.
    HalfOpen {
        /// How many of them have succeeded.
        successes: u32,
        /// How many bring it fully back.
        of: u32,
    },
}

/// How the last check of a server ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CheckSnapshot {
    /// How it ended.
    pub code: CheckCode,
    /// The HTTP status, if there was one.
    pub status: Option<u16>,
    /// More about it, for people.
    pub text: String,
    /// How long it took.
    pub duration_us: u64,
    /// Since it ended.
    pub ms_ago: u64,
}

/// What the agent of a server has said.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentSnapshot {
    /// All that holds, in its words: `up ready 75%`.
    pub says: String,
    /// Its last remark, or why there was no answer.
    pub remark: String,
    /// It did not answer the last time.
    pub is_silent: bool,
    /// What counts of the server's weight, as far as the agent is concerned; `None` = all of it.
    pub weight_percent: Option<u32>,
    /// It wants the server to get nothing, and the operator does not.
    pub keeps_out: bool,
    /// How busy the server's processors are, by its last answer: 100 = all of them. `None` = it does not say.
    pub cpu_percent: Option<u32>,
    /// Since it was asked.
    pub ms_ago: u64,
}

/// How a check ended, by the layer that decided it (HAProxy's names).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum CheckCode {
    /// Not known.
    #[default]
    #[serde(rename = "UNK")]
    Unknown,
    /// The first check has not ended yet.
    #[serde(rename = "INI")]
    Initializing,
    /// A socket could not be made, or the name not resolved.
    #[serde(rename = "SOCKERR")]
    SocketError,
    /// TCP: connected.
    #[serde(rename = "L4OK")]
    L4Ok,
    /// TCP: no answer in time.
    #[serde(rename = "L4TOUT")]
    L4Timeout,
    /// TCP: refused, or unreachable.
    #[serde(rename = "L4CON")]
    L4Refused,
    /// TLS: the handshake was completed.
    #[serde(rename = "L6OK")]
    L6Ok,
    /// TLS: not completed in time.
    #[serde(rename = "L6TOUT")]
    L6Timeout,
    /// TLS: failed.
    #[serde(rename = "L6RSP")]
    L6Failed,
    /// HTTP: as expected.
    #[serde(rename = "L7OK")]
    L7Ok,
    /// HTTP: no answer in time.
    #[serde(rename = "L7TOUT")]
    L7Timeout,
    /// HTTP: the answer was broken.
    #[serde(rename = "L7RSP")]
    L7Broken,
    /// HTTP: another status, header or body than expected.
    #[serde(rename = "L7STS")]
    L7Unexpected,
}

impl ServerSnapshot {
    /// Whether it is in rotation.
    pub fn takes_requests(&self) -> bool {
        self.admin == AdminState::Ready && self.health.usable() && self.weight > 0
    }
}

impl Health {
    /// Whether it may get requests, as far as health goes.
    pub const fn usable(self) -> bool {
        matches!(self, Self::NoCheck | Self::Up | Self::GoingDown { .. } | Self::HalfOpen { .. })
    }
}

impl CheckCode {
    /// HAProxy's name.
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

    /// Whether it counts as a success.
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
