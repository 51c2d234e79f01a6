//! The state of the process in a snapshot.

use serde::{Deserialize, Serialize};

use super::{Level, PerSecond};

/// State of the process.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProcessSnapshot {
    /// Version of Weir.
    pub version: String,
    /// Name of the machine.
    pub host: String,
    /// The process id.
    pub pid: u32,
    /// Time since the start.
    pub uptime_ms: u64,
    /// Worker threads.
    pub workers: u32,
    /// Client connections of all listeners.
    pub connections: Level,
    /// Client connections accepted since the start.
    pub connections_total: u64,
    /// Client connections per second.
    pub connection_rate: PerSecond,
    /// Requests since the start.
    pub requests_total: u64,
    /// Requests per second.
    pub request_rate: PerSecond,
    /// True if nothing new is accepted and open connections finish.
    pub stopping: bool,
    /// Reloads that succeeded.
    pub reloads: u64,
    /// Reloads refused because the config was wrong.
    pub reloads_failed: u64,
    /// Error of the last reload; `None` = no error.
    pub reload_error: Option<String>,
    /// Time since the current config was read.
    pub config_age_ms: u64,
    /// Servers with runtime changes.
    pub runtime_changes: u64,
    /// Access log lines lost because their target was full or slow.
    pub log_lines_dropped: u64,
    /// Idle connections to servers closed because few descriptors were left.
    pub idle_connections_closed: u64,
    /// Memory of the process (RSS); `None` = not known.
    pub memory_bytes: Option<u64>,
    /// What should not be exceeded (`max-memory`); `None` = no limit.
    pub memory_limit_bytes: Option<u64>,
    /// Near that limit: connections give way, and new clients come in only in their place.
    pub memory_is_short: bool,
    /// How often memory has become short.
    pub memory_shortages: u64,
    /// File descriptors: open, most open, limit; `None` = not known.
    pub descriptors: Option<Level>,
}
