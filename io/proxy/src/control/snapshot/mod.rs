//! How things stand, for every face.

mod listener;
mod pool;
mod process;
mod server;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;
use weir_control::{PoolSnapshot, Snapshot, TransfersSnapshot};
use weir_model::PoolName;

use super::Controller;

/// What everything in a snapshot is measured against.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    now: Instant,
    /// As ejection counts it.
    since_start: Duration,
}

impl Controller {
    /// One pool at this instant; `None` = there is none of this name. O(number of its servers).
    pub fn pool_snapshot(&self, name: &PoolName) -> Option<PoolSnapshot> {
        let now = Instant::now();
        let moment = Moment { now, since_start: self.since_start(now) };
        pool::one(&self.records(), name, moment)
    }

    /// Whether a pool of this name finds the weights of servers by measurement.
    pub fn finds_weights(&self, name: &PoolName) -> bool {
        self.records().pool(name).is_some_and(|pool| pool.shared.plan.auto_weight.is_on)
    }

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
            // Whoever has fleets and areas adds them.
            fleets: Vec::new(),
            storage: Vec::new(),
            // They are the storage areas' to tell.
            transfers: TransfersSnapshot::default(),
        }
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
