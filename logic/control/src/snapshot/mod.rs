//! Snapshots: the state of a running Weir at one moment, for user interfaces. Names and texts are plain
//! strings; the user interface must escape them.

mod fleet;
mod latency;
mod listener;
mod lock;
mod pool;
mod process;
mod server;
mod state;
mod sticky;
mod storage;
mod traffic;
mod transfer;

use serde::{Deserialize, Serialize};
use weir_model::PoolName;

use crate::{Code, Refusal, What};

pub use fleet::{FleetDone, FleetEvent, FleetPolicySnapshot, FleetServerSnapshot, FleetSnapshot};
pub use latency::Latency;
pub use listener::{ExpressionFailures, ListenerSnapshot, ListenerStatus, Protocol, RefusalCount, TlsCounts};
pub use lock::LockSnapshot;
pub use pool::{BreakerSnapshot, BreakerStatus, PoolSnapshot, PoolStatus};
pub use process::ProcessSnapshot;
pub use server::{AgentSnapshot, CheckCode, CheckSnapshot, Health, ServerSnapshot};
pub use state::{ServerState, Tone};
pub use sticky::{StickySnapshot, StickyTableSnapshot};
pub use storage::{MethodsSnapshot, StorageSnapshot};
pub use traffic::{Level, PerSecond, Responses, Traffic};
pub use transfer::{TransferSnapshot, TransferTotals, TransfersSnapshot};

/// State of everything at one moment.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Snapshot {
    /// Time of the snapshot, in milliseconds since 1970 (UTC).
    pub time_unix_ms: u64,
    /// State of the process.
    pub process: ProcessSnapshot,
    /// Listeners, in config order.
    pub listeners: Vec<ListenerSnapshot>,
    /// Pools, in config order.
    pub pools: Vec<PoolSnapshot>,
    /// Fleets, in config order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fleets: Vec<FleetSnapshot>,
    /// Storage areas, in config order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub storage: Vec<StorageSnapshot>,
    /// Copies between storage areas and other servers.
    #[serde(skip_serializing_if = "TransfersSnapshot::is_empty")]
    pub transfers: TransfersSnapshot,
}

impl Snapshot {
    /// Returns the requested part; the rest is empty. [`What::Runtime`] is not part of a snapshot and returns
    /// an empty one.
    ///
    /// # Errors
    /// If there is no such pool.
    pub fn select(mut self, what: What, pool: Option<&PoolName>) -> Result<Self, Refusal> {
        if let Some(pool) = pool {
            self.pools.retain(|candidate| candidate.name == pool.as_str());
            if self.pools.is_empty() {
                return Err(Refusal { code: Code::NotFound, message: format!("there is no pool {pool}") });
            }
        }
        if !matches!(what, What::All | What::Process) {
            self.process = ProcessSnapshot::default();
        }
        // If a pool was named, the listeners were not requested.
        if !matches!(what, What::All | What::Listeners) || (what == What::All && pool.is_some()) {
            self.listeners.clear();
        }
        if what != What::All || pool.is_some() {
            self.storage.clear();
        }
        if let Some(pool) = pool {
            self.fleets.retain(|fleet| fleet.pool == pool.as_str());
        }
        if !matches!(what, What::All | What::Fleets) {
            self.fleets.clear();
        }
        if !matches!(what, What::All | What::Transfers) || (what == What::All && pool.is_some()) {
            self.transfers = TransfersSnapshot::default();
        }
        match what {
            What::All | What::Pools => {}
            What::Sticky => {
                self.pools.retain(|pool| pool.sticky.is_some());
                self.pools.iter_mut().for_each(|pool| pool.servers.clear());
            }
            What::Process | What::Listeners | What::Fleets | What::Transfers | What::Runtime => {
                self.pools.clear();
            }
        }
        Ok(self)
    }
}
