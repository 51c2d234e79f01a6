use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use arc_swap::{ArcSwap, ArcSwapOption, Guard};
use weir_balance::{RequestClass, ServerLoad, ServiceTimes};
use weir_model::ServerName;
use weir_net::tls::TlsConnector;

use super::{Queue, ServerCounters, Shards};

/// One server as the workers see it. Lives as long as anyone talks to it, reloads included.
#[derive(Debug)]
pub struct ServerState {
    /// Unique in the process; a server that is removed and added again gets another.
    pub uid: u64,
    /// Its name in its pool.
    pub name: ServerName,
    /// Its place in the pool's rosters.
    pub slot: usize,
    /// Requests in flight.
    pub load: Arc<ServerLoad>,
    /// What was counted.
    pub counters: Shards<ServerCounters>,
    /// Requests that are bound to it, and wait because it is at its limit.
    pub bound: Queue,
    /// What its requests took, if that is to be known: see [`ServerState::service_times`].
    times: OnceLock<Box<ServiceTimes>>,
    /// Failures since the last success, over all workers.
    pub consecutive_failures: AtomicU32,
    address: ArcSwap<String>,
    endpoint: ArcSwap<Endpoint>,
    /// TLS towards it; none = plaintext.
    connector: ArcSwapOption<TlsConnector>,
    endpoint_version: AtomicU64,
    rotation: AtomicU32,
    /// When it last ended a request, in milliseconds since `started`; 0 = never.
    last_used_ms: AtomicU64,
    started: Instant,
}

/// Where a server can be reached right now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// At any of these; at least one.
    Inet(Vec<SocketAddr>),
    /// At a Unix socket.
    Unix(PathBuf),
    /// Nowhere: its name has never been resolved.
    Unresolved,
}

impl ServerState {
    /// A server that has done nothing yet.
    pub fn new(
        uid: u64,
        name: ServerName,
        address: String,
        slot: usize,
        endpoint: Endpoint,
        threads: usize,
    ) -> Self {
        Self {
            uid,
            name,
            address: ArcSwap::from_pointee(address),
            slot,
            load: Arc::default(),
            counters: Shards::new(threads),
            bound: Queue::default(),
            times: OnceLock::new(),
            consecutive_failures: AtomicU32::new(0),
            endpoint: ArcSwap::from_pointee(endpoint),
            connector: ArcSwapOption::empty(),
            endpoint_version: AtomicU64::new(0),
            rotation: AtomicU32::new(0),
            last_used_ms: AtomicU64::new(0),
            started: Instant::now(),
        }
    }

    /// What its requests take. From the first call on, [`ServerState::took`] keeps it.
    pub fn service_times(&self) -> &ServiceTimes {
        self.times.get_or_init(Box::default)
    }

    /// A request was answered after so long.
    pub fn took(&self, class: RequestClass, time_us: u32) {
        if let Some(times) = self.times.get() {
            times.add(class, time_us.into());
        }
    }

    /// The address as configured, or as changed at runtime, for people.
    pub fn address(&self) -> Guard<Arc<String>> {
        self.address.load()
    }

    /// Changes what [`ServerState::address`] tells.
    pub fn set_address(&self, address: String) {
        self.address.store(Arc::new(address));
    }

    /// Where it is now.
    pub fn endpoint(&self) -> Arc<Endpoint> {
        self.endpoint.load_full()
    }

    /// Changes with every [`ServerState::move_to`]; connections made before it are not used again.
    pub fn endpoint_version(&self) -> u64 {
        self.endpoint_version.load(Ordering::Acquire)
    }

    /// It is somewhere else now. Requests in flight end where they are.
    pub fn move_to(&self, endpoint: Endpoint) {
        self.endpoint.store(Arc::new(endpoint));
        self.endpoint_version.fetch_add(1, Ordering::Release);
    }

    /// How TLS is spoken to it; `None` = plaintext.
    pub fn connector(&self) -> Option<Arc<TlsConnector>> {
        self.connector.load_full()
    }

    /// Changes how TLS is spoken to it; connections made before are not used again.
    pub fn set_connector(&self, connector: Option<TlsConnector>) {
        self.connector.store(connector.map(Arc::new));
        self.endpoint_version.fetch_add(1, Ordering::Release);
    }

    /// Notes that a request has ended.
    pub fn touch(&self, now: Instant) {
        let ms = now.saturating_duration_since(self.started).as_millis() as u64;
        self.last_used_ms.store(ms.max(1), Ordering::Relaxed);
    }

    /// How long ago a request last ended; `None` = there was none.
    pub fn idle_for(&self) -> Option<Duration> {
        match self.last_used_ms.load(Ordering::Relaxed) {
            0 => None,
            ms => Some(self.started.elapsed().saturating_sub(Duration::from_millis(ms))),
        }
    }

    /// The next of several addresses to try.
    pub fn next_rotation(&self) -> usize {
        self.rotation.fetch_add(1, Ordering::Relaxed) as usize
    }

    /// Notes a success, for passive ejection.
    pub fn succeeded(&self) {
        // Nearly always zero already, and then no other worker's cache line is touched.
        if self.consecutive_failures.load(Ordering::Relaxed) != 0 {
            self.consecutive_failures.store(0, Ordering::Relaxed);
        }
    }

    /// Notes a failure; returns how many there were in a row.
    pub fn failed(&self) -> u32 {
        self.consecutive_failures.fetch_add(1, Ordering::Relaxed).saturating_add(1)
    }
}
