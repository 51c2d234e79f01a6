//! The state of copies between storage areas and other servers in a snapshot.

use serde::{Deserialize, Serialize};

/// Copies between storage areas and other servers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TransfersSnapshot {
    /// Copies in progress, the oldest first.
    pub live: Vec<TransferSnapshot>,
    /// Counts since the start, for areas and directions that had copies.
    pub totals: Vec<TransferTotals>,
}

impl TransfersSnapshot {
    /// Returns true if there were no copies.
    pub fn is_empty(&self) -> bool {
        self.live.is_empty() && self.totals.is_empty()
    }
}

/// A copy in progress.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TransferSnapshot {
    /// Number of the copy since the start.
    pub id: u64,
    /// Storage area of the file.
    pub area: String,
    /// `pull` (from the other server) or `push` (to it).
    pub direction: String,
    /// Host and port of the other server.
    pub peer: String,
    /// File in the storage area, as in URLs.
    pub path: String,
    /// `queued`, `waiting` (for the other server, or for another try), `moving` or `verifying`.
    pub state: String,
    /// Bytes of the file transferred so far.
    pub bytes: u64,
    /// Size of the file in bytes; `None` = not known.
    pub size: Option<u64>,
    /// Current rate.
    pub bytes_per_second: u64,
    /// Time since the copy was requested.
    pub age_ms: u64,
    /// Experiment and activity that its client named.
    pub sci_tag: Option<u16>,
}

/// Counts of copies since the start.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TransferTotals {
    /// Storage area that the counts belong to.
    pub area: String,
    /// `pull` or `push`.
    pub direction: String,
    /// Copies that succeeded.
    pub succeeded: u64,
    /// Copies that failed.
    pub failed: u64,
    /// Copies cancelled by a disconnected client or by the end of the process.
    pub cancelled: u64,
    /// Bytes over the network, including failed tries.
    pub bytes: u64,
}
