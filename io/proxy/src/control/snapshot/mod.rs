//! How things stand, for every face.

mod listener;
mod pool;
mod process;
mod server;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;
use weir_control::{Snapshot, TransfersSnapshot};

use super::Controller;

/// What everything in a snapshot is measured against.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    now: Instant,
    /// As ejection counts it.
    since_start: Duration,
}

impl Controller {
    /// Everything at this instant. O(number of servers).
    pub fn snapshot(&self) -> Snapshot {
        let now = Instant::now();
        let moment = Moment { now, since_start: self.since_start(now) };
        let records = self.records();
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Snapshot {
            time_unix_ms: millis(since_epoch),
            process: self.process_snapshot(&records, now),
            listeners: listener::all(&records),
            pools: pool::all(&records, moment),
            // Whoever has areas adds them.
            storage: Vec::new(),
            // They are the storage areas' to tell.
            transfers: TransfersSnapshot::default(),
        }
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
