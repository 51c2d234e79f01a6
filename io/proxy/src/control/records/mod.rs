//! State of every pool and server in the control plane, behind one lock. Code in here never waits, reads
//! files or starts tasks.

mod clock;
mod departed;
mod health;
mod listeners;
mod members;
mod meter;
mod outdated;
mod plans;
mod pool;
mod retiring;
mod rise;
mod rotation;
mod server;
mod sync;
#[cfg(test)]
mod tests;
mod weights;

use std::collections::HashMap;

use tokio::time::Instant;
use weir_config::Plan;
use weir_control::RuntimeState;
use weir_model::PoolName;

pub(super) use clock::UpClock;
pub(super) use departed::{LatencySum, ServerSums};
pub(super) use health::{CheckResult, HealthRecord};
pub(super) use listeners::{ListenerBook, ListenerRecord};
pub(super) use meter::{LevelMeter, RateMeter};
pub(super) use plans::{spec_of, wanted};
pub(super) use pool::PoolRecord;
pub(super) use rise::Rise;
pub(super) use rotation::Rotation;
pub(super) use server::{ServerRecord, address_of, tls_host};
pub(super) use sync::Ground;
pub(super) use weights::FoundWeight;

use crate::access_log::LogPort;
use crate::state::Live;
use crate::turns::Turns;

use super::names::{NameBook, Resolver};
use super::task::Task;

/// All mutable state of the control plane.
#[derive(Debug)]
pub(super) struct Records {
    /// Current plan. Its pools list the servers of the config.
    pub(super) plan: Plan,
    /// Changes made at runtime.
    pub(super) runtime: RuntimeState,
    /// Number of changes of `runtime`, which identifies the newest of several saves.
    pub(super) runtime_version: u64,
    /// Pools in plan order.
    pub(super) pools: Vec<PoolRecord>,
    pub(super) pool_index: HashMap<PoolName, usize>,
    /// Pools that are no longer in the plan but still have users from before.
    pub(super) retiring: Vec<PoolRecord>,
    pub(super) listeners: ListenerBook,
    pub(super) names: NameBook,
    /// Resolver; `None` = no name has needed a lookup yet.
    pub(super) resolver: Option<Resolver>,
    pub(super) certificate_watch: Vec<Task>,
    pub(super) process: ProcessRecord,
    /// Position in the round of reading totals.
    pub(super) reading: Turns,
}

/// State of the process as a whole.
#[derive(Debug)]
pub(super) struct ProcessRecord {
    pub(super) reloads: u64,
    pub(super) reloads_failed: u64,
    pub(super) reload_error: Option<String>,
    /// Time at which the plan came into force.
    pub(super) plan_since: Instant,
    pub(super) stopping: bool,
    pub(super) connections: RateMeter,
    pub(super) requests: RateMeter,
    pub(super) descriptors_max: u64,
    /// Lines lost by access logs that a reload has replaced.
    log_lines_dropped_before: u64,
}

impl Records {
    /// Returns a pool of the plan.
    pub(super) fn pool(&self, name: &PoolName) -> Option<&PoolRecord> {
        self.pools.get(*self.pool_index.get(name)?)
    }

    /// Returns a pool of the plan.
    pub(super) fn pool_mut(&mut self, name: &PoolName) -> Option<&mut PoolRecord> {
        self.pools.get_mut(*self.pool_index.get(name)?)
    }

    /// Rebuilds the index of pools by name after a change.
    pub(super) fn index_pools(&mut self) {
        let entries = self.pools.iter().enumerate();
        self.pool_index = entries.map(|(index, pool)| (pool.name.clone(), index)).collect();
    }
}

impl ProcessRecord {
    pub(super) fn new(now: Instant) -> Self {
        Self {
            reloads: 0,
            reloads_failed: 0,
            reload_error: None,
            plan_since: now,
            stopping: false,
            connections: RateMeter::starting(now),
            requests: RateMeter::starting(now),
            descriptors_max: 0,
            log_lines_dropped_before: 0,
        }
    }

    /// Returns the number of access log lines lost since the start.
    pub(super) fn log_lines_dropped(&self, live: &Live) -> u64 {
        self.log_lines_dropped_before + dropped(live)
    }

    /// Adds the lost lines of `live`'s access log, which a reload is about to replace.
    pub(super) fn log_replaced(&mut self, live: &Live) {
        self.log_lines_dropped_before += dropped(live);
    }
}

fn dropped(live: &Live) -> u64 {
    live.access_log.as_ref().map_or(0, LogPort::lines_dropped)
}
