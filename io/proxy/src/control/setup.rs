use std::sync::Arc;

use weir_net::service::Service;

use super::EventLog;
use crate::access_log::LogPort;

/// What the program brings besides the plan.
#[derive(Debug, Clone)]
pub struct Setup {
    /// Worker threads, at least 1.
    pub workers: usize,
    /// Client connections of all listeners: the plan's limit, or what the descriptor limit allows.
    pub connections_max: u32,
    /// Descriptors that the process may have open.
    pub descriptors_max: u64,
    /// Where access log lines go.
    pub access_log: Option<LogPort>,
    /// Answers what routes give to storage areas.
    pub service: Option<Arc<dyn Service>>,
    /// Where an operator reads what happened.
    pub log: EventLog,
}
