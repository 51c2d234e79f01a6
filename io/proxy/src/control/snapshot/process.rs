//! The snapshot of the process.

use tokio::time::Instant;
use weir_control::{Level, ProcessSnapshot};

use super::millis;
use crate::control::records::Records;
use crate::control::{Controller, process_facts};

impl Controller {
    pub(super) fn process_snapshot(&self, records: &Records, now: Instant) -> ProcessSnapshot {
        let process = &records.process;
        let open = &self.shared().open;
        ProcessSnapshot {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            host: self.host.clone(),
            pid: std::process::id(),
            uptime_ms: millis(self.since_start(now)),
            workers: u32::try_from(self.workers).unwrap_or(u32::MAX),
            connections: Level {
                current: open.now().into(),
                max: open.max().into(),
                limit: Some(self.shared().connections_max.into()),
            },
            connections_total: records.listeners.connections_total(),
            connection_rate: process.connections.rate(),
            requests_total: records.listeners.requests_total(),
            request_rate: process.requests.rate(),
            stopping: process.stopping,
            reloads: process.reloads,
            reloads_failed: process.reloads_failed,
            reload_error: process.reload_error.clone(),
            config_age_ms: millis(now.saturating_duration_since(process.plan_since)),
            runtime_changes: records.runtime.len() as u64,
            log_lines_dropped: process.log_lines_dropped(&self.shared().live()),
            idle_connections_closed: self.shared().descriptors.idle_closed(),
            memory_bytes: process_facts::memory_bytes(),
            memory_limit_bytes: self.shared().memory.limit(),
            memory_is_short: self.shared().memory.is_short(),
            memory_shortages: self.shared().memory.shortages(),
            descriptors: process_facts::descriptors_open().map(|current| Level {
                current,
                max: process.descriptors_max.max(current),
                limit: process_facts::descriptors_limit(),
            }),
        }
    }
}
