//! The plan in force, and the state that all workers share.

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

/// The compiled plan in force. It is immutable; a reload creates another one.
#[derive(Debug)]
pub struct Live {
    /// Listeners, in plan order.
    pub listeners: Vec<Arc<ListenerState>>,
    /// Pools, in plan order; routes refer to them by index.
    pub pools: Vec<Arc<PoolState>>,
    /// Bodies for the error responses that Weir sends itself.
    pub error_pages: BTreeMap<u16, ErrorPage>,
    /// Destination of access log lines; `None` = no access log.
    pub access_log: Option<LogPort>,
}

/// State that all workers and the control plane share.
#[derive(Debug)]
pub struct Shared {
    /// Number of threads that count: the workers, and the control plane as the last one.
    pub threads: usize,
    /// Client connections of all listeners.
    pub open: OpenConnections,
    /// Maximum of `open`.
    pub connections_max: u32,
    /// Descriptor limit of this process.
    pub descriptors: Descriptors,
    /// Memory limit, and the flag for a memory shortage.
    pub memory: MemoryState,
    /// Requests between workers for room, when `connections_max` or the limit of a listener is reached.
    pub(crate) room: RoomRequests,
    /// Service that answers the requests that routes send to storage areas; `None` = there is no such
    /// service.
    pub service: Option<Arc<dyn Service>>,
    /// Wakes the control plane because a server may have to be ejected.
    pub traffic_alarm: Notify,
    /// Time at which [`Shared::millis`] is 0.
    started: Instant,
    live: ArcSwap<Live>,
    generation: AtomicU64,
}

impl Shared {
    /// Creates the state with a first plan.
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

    /// Sets the service that answers requests within this process.
    #[must_use]
    pub fn with_service(mut self, service: Option<Arc<dyn Service>>) -> Self {
        self.service = service;
        self
    }

    /// Returns the time at which [`Shared::millis`] is 0.
    pub(crate) fn started(&self) -> Instant {
        self.started
    }

    /// Returns the milliseconds at `now` since the start time that all workers share.
    pub fn millis(&self, now: Instant) -> u64 {
        now.saturating_duration_since(self.started).as_millis() as u64
    }

    /// Returns the plan in force.
    pub fn live(&self) -> Arc<Live> {
        self.live.load_full()
    }

    /// Returns a number that changes with every [`Shared::publish`].
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Makes `live` the plan that every worker follows from its next request.
    pub fn publish(&self, live: Live) {
        self.live.store(Arc::new(live));
        self.generation.fetch_add(1, Ordering::Release);
    }
}
