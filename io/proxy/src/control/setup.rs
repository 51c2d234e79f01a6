//! Settings for the start of the controller.

use std::sync::Arc;

use weir_net::service::Service;

use super::EventLog;
use crate::access_log::LogPort;

/// Settings from the program, besides the plan.
#[derive(Debug, Clone)]
pub struct Setup {
    /// Number of worker threads, at least 1.
    pub workers: usize,
    /// Maximum number of client connections of all listeners, from the plan or the descriptor limit.
    pub connections_max: u32,
    /// Maximum number of open descriptors of the process.
    pub descriptors_max: u64,
    /// Destination of access log lines.
    pub access_log: Option<LogPort>,
    /// Service that answers requests for storage areas.
    pub service: Option<Arc<dyn Service>>,
    /// Event log for the operator.
    pub log: EventLog,
}
