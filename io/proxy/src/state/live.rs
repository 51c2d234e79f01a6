use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use arc_swap::ArcSwap;
use tokio::sync::Notify;
use weir_config::plan::ErrorPage;
use weir_net::service::Service;

use super::listener::OpenConnections;
use super::{Descriptors, ListenerState, MemoryState, PoolState, RoomRequests};
use crate::access_log::LogPort;

/// The plan in force, compiled. Immutable; a reload makes another.
#[derive(Debug)]
pub struct Live {
    /// In plan order.
    pub listeners: Vec<Arc<ListenerState>>,
    /// In plan order; routes refer to them by index.
    pub pools: Vec<Arc<PoolState>>,
    /// Bodies for errors that Weir answers with itself.
    pub error_pages: BTreeMap<u16, ErrorPage>,
    /// Where access log lines go; `None` = nowhere.
    pub access_log: Option<LogPort>,
}

/// What all workers and the control plane share.
#[derive(Debug)]
pub struct Shared {
    /// Threads that count: the workers, and the control plane as the last one.
    pub threads: usize,
    /// Client connections of all listeners.
    pub open: OpenConnections,
    /// What `open` may be at most.
    pub connections_max: u32,
    /// Those that this process may have.
    pub descriptors: Descriptors,
    /// Whether memory is short.
    pub memory: MemoryState,
    /// Between workers, where `connections_max` or a listener's limit is reached.
    pub(crate) room: RoomRequests,
    /// Answers what routes give to storage areas; `None` = nobody does.
    pub service: Option<Arc<dyn Service>>,
    /// Wakes the control plane: a server may have to be ejected.
    pub traffic_alarm: Notify,
    /// What measurements count their time from.
    started: Instant,
    live: ArcSwap<Live>,
    generation: AtomicU64,
}

impl Shared {
    /// With a first plan.
    pub fn new(threads: usize, connections_max: u32, descriptors: Descriptors, live: Live) -> Self {
        Self {
            threads,
            open: OpenConnections::default(),
            connections_max,
            memory: MemoryState::default(),
            room: RoomRequests::new(descriptors.workers()),
            descriptors,
            service: None,
            traffic_alarm: Notify::new(),
            started: Instant::now(),
            live: ArcSwap::from_pointee(live),
            generation: AtomicU64::new(1),
        }
    }

    /// With a service that answers within this process.
    #[must_use]
    pub fn with_service(mut self, service: Option<Arc<dyn Service>>) -> Self {
        self.service = service;
        self
    }

    /// What measurements count their time from.
    pub(crate) fn started(&self) -> Instant {
        self.started
    }

    /// Milliseconds since the start that all workers share.
    pub fn millis(&self, now: Instant) -> u64 {
        now.saturating_duration_since(self.started).as_millis() as u64
    }

    /// The plan in force.
    pub fn live(&self) -> Arc<Live> {
        self.live.load_full()
    }

    /// Changes with every [`Shared::publish`].
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Makes `live` the plan that every worker follows from its next request on.
    pub fn publish(&self, live: Live) {
        self.live.store(Arc::new(live));
        self.generation.fetch_add(1, Ordering::Release);
    }
}
