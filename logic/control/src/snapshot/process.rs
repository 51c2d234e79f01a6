use serde::{Deserialize, Serialize};

use super::{Level, PerSecond};

/// The process as a whole.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ProcessSnapshot {
    /// Weir's version.
    pub version: String,
    /// The machine's name.
    pub host: String,
    /// The process id.
    pub pid: u32,
    /// Since the start.
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
    /// Nothing new is accepted; what is open is being finished.
    pub stopping: bool,
    /// Reloads that were taken over.
    pub reloads: u64,
    /// Reloads that were refused because the config was wrong.
    pub reloads_failed: u64,
    /// What was wrong with the last reload; `None` = nothing.
    pub reload_error: Option<String>,
    /// Since the config in force was read.
    pub config_age_ms: u64,
    /// Servers with something that was changed at runtime.
    pub runtime_changes: u64,
    /// Access log lines that were lost because their target was full or slow.
    pub log_lines_dropped: u64,
    /// Idle connections to servers that were closed because few descriptors were left.
    pub idle_connections_closed: u64,
    /// Memory of the process (RSS); `None` = not known.
    pub memory_bytes: Option<u64>,
    /// File descriptors: open, most open, limit; `None` = not known.
    pub descriptors: Option<Level>,
}
