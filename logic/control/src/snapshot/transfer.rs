use serde::{Deserialize, Serialize};

/// Copies between storage areas and other servers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TransfersSnapshot {
    /// Those under way, the oldest first.
    pub live: Vec<TransferSnapshot>,
    /// Counts since the start, for areas and directions that had any.
    pub totals: Vec<TransferTotals>,
}

impl TransfersSnapshot {
    /// There were none.
    pub fn is_empty(&self) -> bool {
        self.live.is_empty() && self.totals.is_empty()
    }
}

/// A copy that is under way.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TransferSnapshot {
    /// Its number since the start.
    pub id: u64,
    /// The storage area.
    pub area: String,
    /// `pull` (from the other server) or `push` (to it).
    pub direction: String,
    /// The other server: host and port.
    pub peer: String,
    /// The file here, as URLs have it.
    pub path: String,
    /// `queued`, `waiting` (for the other server, or for another try), `moving` or `verifying`.
    pub state: String,
    /// Bytes of the file transferred.
    pub bytes: u64,
    /// Bytes of the file; `None` = not known.
    pub size: Option<u64>,
    /// At the moment.
    pub bytes_per_second: u64,
    /// Since it was asked for.
    pub age_ms: u64,
    /// The experiment and activity that its client has named.
    pub sci_tag: Option<u16>,
}

/// Counts of copies since the start.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TransferTotals {
    /// The storage area.
    pub area: String,
    /// `pull` or `push`.
    pub direction: String,
    /// Those that worked.
    pub succeeded: u64,
    /// Those that did not.
    pub failed: u64,
    /// Those whose client has gone, or that the process's end has ended.
    pub cancelled: u64,
    /// Bytes over the network, those of tries that failed included.
    pub bytes: u64,
}
