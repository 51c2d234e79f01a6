//! A server as all workers see it: address, load, counters and health probes.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use arc_swap::{ArcSwap, ArcSwapOption, Guard};
use weir_balance::{Concurrency, ConcurrencyRule, RequestClass, ServerLoad, ServiceTimes};
use weir_model::ServerName;
use weir_net::tls::TlsConnector;

use super::{RequestQueue, ServerCounters, Shards};

/// One server as the workers see it. It lives as long as any connection or request uses it, also across
/// reloads.
///
/// With thousands of servers, the CPU cache cannot hold their state, and each cache line that a request reads
/// costs a memory access. Each worker therefore has its own copy of the fields that every request needs.
/// Three process-wide counters, which all caches hold, show whether a request must read more: `MOVES`,
/// `HALF_OPEN` and `FAILING`. The fields that are then read are on one cache line and are rarely written. The
/// fields that requests write, at most once a millisecond, are on the second line.
#[derive(Debug)]
#[repr(C, align(128))]
pub struct ServerState {
    /// Requests in flight.
    pub load: Arc<ServerLoad>,
    /// Counters of the server, one shard for each thread.
    pub counters: Shards<ServerCounters>,
    /// Name of the server in its pool.
    pub name: ServerName,
    /// Slot of the server in the pool's rosters.
    pub slot: usize,
    endpoint_version: AtomicU64,
    /// Failures since the last success, over all workers.
    pub consecutive_failures: AtomicU32,
    /// Number of requests that must succeed while the server is half open; 0 = it is not half open.
    probes_wanted: AtomicU32,
    /// Time at which the server last ended a request, in milliseconds since `started`; 0 = never.
    last_used_ms: AtomicU64,
    started: Instant,
    /// Unique id in the process; a server that is removed and added again gets a new one.
    pub uid: u64,
    endpoint: ArcSwap<Endpoint>,
    /// TLS configuration for connections to the server; none = plaintext.
    connector: ArcSwapOption<TlsConnector>,
    rotation: AtomicU32,
    /// Requests that are bound to this server and wait because it is at its limit.
    pub bound: RequestQueue,
    /// Service times of its requests, once they are wanted: see [`ServerState::service_times`].
    times: OnceLock<Box<ServiceTimes>>,
    /// Number of probes that have succeeded while it is half open.
    probes_passed: AtomicU32,
    /// Number of probes that have failed.
    probes_failed: AtomicU32,
    /// Number of older requests that the server still had when it became half open.
    probes_beside: AtomicU32,
    /// Number that changes each time the server becomes half open, so that requests of an earlier time are
    /// recognised.
    probe_turn: AtomicU32,
    /// Concurrency limit that the server's latency permits, if the pool measures it.
    concurrency: Mutex<Option<Concurrency>>,
    address: ArcSwap<String>,
}

/// Number of address and TLS changes of all servers of this process. While it is constant, no server has
/// moved.
static MOVES: AtomicU64 = AtomicU64::new(0);
/// Number of servers of this process that are half open.
static HALF_OPEN: AtomicU32 = AtomicU32::new(0);
/// Number of servers of this process that have failed since their last success.
static FAILING: AtomicU32 = AtomicU32::new(0);

/// Version of a server's address at some time; see [`ServerState::is_still_at`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Whereabouts {
    /// Value of `MOVES`, read before the version.
    moves: u64,
    version: u64,
}

/// Current address of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// Internet addresses; at least one.
    Inet(Vec<SocketAddr>),
    /// Path of a Unix socket.
    Unix(PathBuf),
    /// No address yet: the server's name has never been resolved.
    Unresolved,
}

impl ServerState {
    /// Creates a server without any history.
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
            bound: RequestQueue::default(),
            times: OnceLock::new(),
            consecutive_failures: AtomicU32::new(0),
            probes_wanted: AtomicU32::new(0),
            probes_passed: AtomicU32::new(0),
            probes_failed: AtomicU32::new(0),
            probes_beside: AtomicU32::new(0),
            probe_turn: AtomicU32::new(0),
            concurrency: Mutex::default(),
            endpoint: ArcSwap::from_pointee(endpoint),
            connector: ArcSwapOption::empty(),
            endpoint_version: AtomicU64::new(0),
            rotation: AtomicU32::new(0),
            last_used_ms: AtomicU64::new(0),
            started: Instant::now(),
        }
    }

    /// Returns the service times of its requests. From the first call, [`ServerState::took`] records them.
    pub fn service_times(&self) -> &ServiceTimes {
        self.times.get_or_init(Box::default)
    }

    /// Records the service time of a request.
    pub fn took(&self, class: RequestClass, time_us: u32) {
        if let Some(times) = self.times.get() {
            times.add(class, time_us.into());
        }
    }

    /// Returns the address as configured, or as changed at runtime, for display.
    pub fn address(&self) -> Guard<Arc<String>> {
        self.address.load()
    }

    /// Changes the address that [`ServerState::address`] returns.
    pub fn set_address(&self, address: String) {
        self.address.store(Arc::new(address));
    }

    /// Returns the current address.
    pub fn endpoint(&self) -> Arc<Endpoint> {
        self.endpoint.load_full()
    }

    /// Returns a number that changes with every [`ServerState::move_to`]. Connections made before a change
    /// are not reused.
    pub fn endpoint_version(&self) -> u64 {
        self.endpoint_version.load(Ordering::Acquire)
    }

    /// Changes the server's address. Requests in flight finish at the old address.
    pub fn move_to(&self, endpoint: Endpoint) {
        self.endpoint.store(Arc::new(endpoint));
        self.has_moved();
    }

    /// Returns the address version for [`ServerState::is_still_at`]. Callers must read it before they read
    /// the endpoint.
    pub fn whereabouts(&self) -> Whereabouts {
        let moves = MOVES.load(Ordering::Acquire);
        Whereabouts { moves, version: self.endpoint_version() }
    }

    /// Returns true if the server has not moved since `known` was read. Reads the server's own version only
    /// if any server has moved.
    pub fn is_still_at(&self, known: &mut Whereabouts) -> bool {
        let moves = MOVES.load(Ordering::Acquire);
        if moves == known.moves {
            return true;
        }
        let is_there = known.version == self.endpoint_version();
        if is_there {
            known.moves = moves;
        }
        is_there
    }

    fn has_moved(&self) {
        self.endpoint_version.fetch_add(1, Ordering::Release);
        MOVES.fetch_add(1, Ordering::Release);
    }

    /// Returns the TLS configuration for connections to the server; `None` = plaintext.
    pub fn connector(&self) -> Option<Arc<TlsConnector>> {
        self.connector.load_full()
    }

    /// Changes the TLS configuration; connections made before are not reused.
    pub fn set_connector(&self, connector: Option<TlsConnector>) {
        self.connector.store(connector.map(Arc::new));
        self.has_moved();
    }

    /// Records the time at which a request has ended.
    pub fn touch(&self, now: Instant) {
        let ms = now.saturating_duration_since(self.started).as_millis() as u64;
        // Only the first request within a millisecond stores the time, because a store takes the cache line
        // from the other workers.
        if self.last_used_ms.load(Ordering::Relaxed) != ms.max(1) {
            self.last_used_ms.store(ms.max(1), Ordering::Relaxed);
        }
    }

    /// Returns the time at which the server last ended a request, in milliseconds since its creation; 0 =
    /// never.
    pub(crate) fn last_used_ms(&self) -> u64 {
        self.last_used_ms.load(Ordering::Relaxed)
    }

    /// Returns the time since a request last ended; `None` = there was none.
    pub fn idle_for(&self) -> Option<Duration> {
        match self.last_used_ms.load(Ordering::Relaxed) {
            0 => None,
            ms => Some(self.started.elapsed().saturating_sub(Duration::from_millis(ms))),
        }
    }

    /// Returns the initial concurrency limit under `rule`, or the limit already found under it. Without a
    /// rule there is no limit.
    pub fn limit_to_start_with(&self, rule: Option<&ConcurrencyRule>) -> u32 {
        let mut concurrency = self.concurrency.lock().unwrap_or_else(PoisonError::into_inner);
        match rule {
            None => {
                *concurrency = None;
                u32::MAX
            }
            Some(rule) => concurrency.get_or_insert_with(|| Concurrency::new(rule)).limit(rule),
        }
    }

    /// Records the latency of an ended request. Returns the limit if it was recomputed. Under contention the
    /// request is skipped instead of waiting for the lock, because one request more or less does not matter.
    pub(crate) fn learn(
        &self,
        rule: &ConcurrencyRule,
        now: Instant,
        latency: Duration,
        failed: bool,
    ) -> Option<u32> {
        let mut concurrency = self.concurrency.try_lock().ok()?;
        // A request of an outdated plan must not restore a limit.
        let concurrency = concurrency.as_mut()?;
        let now_us = now.saturating_duration_since(self.started).as_micros() as u64;
        let judged = concurrency.ended(rule, now_us, latency.as_micros() as u64, self.load.active(), failed);
        judged.then(|| concurrency.limit(rule))
    }

    /// Returns a counter that selects the next of several addresses to try.
    pub fn next_rotation(&self) -> usize {
        self.rotation.fetch_add(1, Ordering::Relaxed) as usize
    }

    /// Makes the server half open until `wanted` requests have succeeded; 0 = no longer half open.
    pub fn want_probes(&self, wanted: u32) {
        self.probe_turn.fetch_add(1, Ordering::Relaxed);
        self.probes_passed.store(0, Ordering::Relaxed);
        self.probes_failed.store(0, Ordering::Relaxed);
        self.probes_beside.store(self.load.active(), Ordering::Relaxed);
        let before = self.probes_wanted.swap(wanted, Ordering::Relaxed);
        match (before > 0, wanted > 0) {
            (false, true) => HALF_OPEN.fetch_add(1, Ordering::Relaxed),
            (true, false) => HALF_OPEN.fetch_sub(1, Ordering::Relaxed),
            _ => 0,
        };
    }

    /// Returns how many requests must succeed while the server is half open; 0 = it is not half open.
    pub fn probes_wanted(&self) -> u32 {
        self.probes_wanted.load(Ordering::Relaxed)
    }

    /// Returns how many requests a half-open server may have at once. Requests that it had before are added,
    /// because they must not block its probes.
    pub fn probe_limit(&self) -> Option<u32> {
        let wanted = self.probes_wanted();
        (wanted > 0).then(|| wanted.saturating_add(self.probes_beside.load(Ordering::Relaxed)))
    }

    /// Returns the half-open turn that a new request belongs to; `None` = the server is not half open.
    pub(crate) fn probe_turn(&self) -> Option<u32> {
        let is_half_open = HALF_OPEN.load(Ordering::Relaxed) > 0 && self.probes_wanted() > 0;
        is_half_open.then(|| self.probe_turn.load(Ordering::Relaxed))
    }

    /// Returns how many probes have succeeded.
    pub fn probes_passed(&self) -> u32 {
        self.probes_passed.load(Ordering::Relaxed)
    }

    /// Returns how many probes have failed.
    pub fn probes_failed(&self) -> u32 {
        self.probes_failed.load(Ordering::Relaxed)
    }

    /// Records the success of a request of that turn. Returns true if it was the last success required.
    pub(crate) fn probe_passed(&self, turn: Option<u32>) -> bool {
        // The turn is almost always `None`, and then no cache line is read that may be missing from the
        // cache.
        turn.is_some()
            && turn == self.probe_turn()
            && self.probes_passed.fetch_add(1, Ordering::Relaxed).saturating_add(1) == self.probes_wanted()
    }

    /// Records the failure of a request of that turn. Returns true if the turn is the present one.
    pub(crate) fn probe_failed(&self, turn: Option<u32>) -> bool {
        let concerns = turn.is_some() && turn == self.probe_turn();
        if concerns {
            self.probes_failed.fetch_add(1, Ordering::Relaxed);
        }
        concerns
    }

    /// Records a success, for passive ejection.
    pub fn succeeded(&self) {
        // The count is almost always zero already, and then no other worker's cache line is touched.
        if FAILING.load(Ordering::Relaxed) > 0
            && self.consecutive_failures.load(Ordering::Relaxed) > 0
            && self.consecutive_failures.swap(0, Ordering::Relaxed) > 0
        {
            FAILING.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Records a failure. Returns the number of failures in a row.
    pub fn failed(&self) -> u32 {
        let before = self.consecutive_failures.fetch_add(1, Ordering::Relaxed);
        if before == 0 {
            FAILING.fetch_add(1, Ordering::Relaxed);
        }
        before.saturating_add(1)
    }
}

impl Drop for ServerState {
    fn drop(&mut self) {
        self.succeeded();
        self.want_probes(0);
    }
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    fn server(uid: u64) -> ServerState {
        let name = ServerName::new("a").unwrap();
        ServerState::new(uid, name, String::new(), 0, Endpoint::Unresolved, 1)
    }

    #[test]
    fn a_success_ends_a_row_of_failures_whoever_else_fails_or_goes() {
        let (one, other) = (server(1), server(2));
        assert_eq!([one.failed(), one.failed(), other.failed()], [1, 2, 1]);
        one.succeeded();
        one.succeeded();
        assert_eq!([one.failed(), other.failed()], [1, 2]);
        drop(other);
        one.succeeded();
        assert_eq!(one.failed(), 1);
    }

    #[test]
    fn requests_belong_to_the_turn_in_which_their_server_is_half_open() {
        let (one, other) = (server(1), server(2));
        assert_eq!(one.probe_turn(), None);
        other.want_probes(3);
        assert_eq!(one.probe_turn(), None, "another one is");
        one.want_probes(2);
        let turn = one.probe_turn();
        assert!(turn.is_some());
        drop(other);
        one.want_probes(1);
        assert!(one.probe_turn().is_some_and(|again| Some(again) != turn));
        one.want_probes(0);
        assert_eq!(one.probe_turn(), None);
    }

    #[test]
    fn a_server_is_where_it_was_until_it_moves_or_is_spoken_to_otherwise() {
        let (one, other) = (server(1), server(2));
        let mut known = one.whereabouts();
        assert!(one.is_still_at(&mut known));
        other.move_to(Endpoint::Unresolved);
        assert!(one.is_still_at(&mut known), "another one has moved");
        one.move_to(Endpoint::Unresolved);
        assert!(!one.is_still_at(&mut known) && !one.is_still_at(&mut known));
        let mut known = one.whereabouts();
        one.set_connector(None);
        assert!(!one.is_still_at(&mut known));
    }

    #[test]
    fn what_each_request_looks_at_of_a_server_is_on_two_cache_lines() {
        const LINE: usize = 64;
        assert_eq!(align_of::<ServerState>() % LINE, 0);
        let read_only = [
            offset_of!(ServerState, load),
            offset_of!(ServerState, counters),
            offset_of!(ServerState, name),
            offset_of!(ServerState, slot),
            offset_of!(ServerState, endpoint_version),
            offset_of!(ServerState, consecutive_failures),
            offset_of!(ServerState, probes_wanted),
        ];
        assert!(read_only.iter().all(|at| *at < LINE), "{read_only:?}");
        let written = [
            offset_of!(ServerState, last_used_ms),
            offset_of!(ServerState, started),
            offset_of!(ServerState, endpoint),
            offset_of!(ServerState, connector),
            offset_of!(ServerState, rotation),
            offset_of!(ServerState, bound),
        ];
        assert!(written.iter().all(|at| (LINE..2 * LINE).contains(at)), "{written:?}");
    }
}
