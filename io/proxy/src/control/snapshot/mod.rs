//! Snapshots of the state, for the admin page, metrics and the control socket.

mod listener;
mod pool;
mod process;
mod server;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;
use weir_control::{PoolSnapshot, Snapshot, TransfersSnapshot};
use weir_model::PoolName;

use super::Controller;

/// Reference time of a snapshot.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    now: Instant,
    /// Time since the start, which is the clock of ejection.
    since_start: Duration,
}

impl Controller {
    /// Returns a snapshot of one pool; `None` = there is no pool of that name. O(number of its servers).
    pub fn pool_snapshot(&self, name: &PoolName) -> Option<PoolSnapshot> {
        let now = Instant::now();
        let moment = Moment { now, since_start: self.since_start(now) };
        pool::one(&self.records(), name, moment)
    }

    /// Returns true if the pool measures the weights of servers.
    pub fn finds_weights(&self, name: &PoolName) -> bool {
        self.records().pool(name).is_some_and(|pool| pool.shared.plan.auto_weight.is_on)
    }

    /// Returns a snapshot of everything. O(number of servers).
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
            // The owners of fleets and storage areas add these.
            fleets: Vec::new(),
            storage: Vec::new(),
            // The storage areas provide these.
            transfers: TransfersSnapshot::default(),
        }
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
