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

/// One server as the workers see it. Lives as long as anyone talks to it, reloads included.
///
/// With thousands of servers no cache holds them, and each line of memory that a request needs has to be waited for. So a worker has at
/// hand what each request needs, and three counts for all servers together, which all caches hold, say whether anything else has to
/// be looked at: `MOVES`, `HALF_OPEN` and `FAILING`. What is looked at then stands together, and is hardly ever written; what
/// each request writes, once a millisecond at most, is on the second line.
#[derive(Debug)]
#[repr(C, align(128))]
pub struct ServerState {
    /// Requests in flight.
    pub load: Arc<ServerLoad>,
    /// What was counted.
    pub counters: Shards<ServerCounters>,
    /// Its name in its pool.
    pub name: ServerName,
    /// Its place in the pool's rosters.
    pub slot: usize,
    endpoint_version: AtomicU64,
    /// Failures since the last success, over all workers.
    pub consecutive_failures: AtomicU32,
    /// While it is half open: so many requests have to succeed; 0 = it is not.
    probes_wanted: AtomicU32,
    /// When it last ended a request, in milliseconds since `started`; 0 = never.
    last_used_ms: AtomicU64,
    started: Instant,
    /// Unique in the process; a server that is removed and added again gets another.
    pub uid: u64,
    endpoint: ArcSwap<Endpoint>,
    /// TLS towards it; none = plaintext.
    connector: ArcSwapOption<TlsConnector>,
    rotation: AtomicU32,
    /// Requests that are bound to it, and wait because it is at its limit.
    pub bound: RequestQueue,
    /// What its requests took, if that is to be known: see [`ServerState::service_times`].
    times: OnceLock<Box<ServiceTimes>>,
    /// So many have succeeded while it is half open.
    probes_passed: AtomicU32,
    /// So many have failed.
    probes_failed: AtomicU32,
    /// How many requests it still had from before.
    probes_beside: AtomicU32,
    /// Differs for each time that it was half open, so that requests of another time are known.
    probe_turn: AtomicU32,
    /// The limit that its latency permits, where the pool has that looked for.
    concurrency: Mutex<Option<Concurrency>>,
    address: ArcSwap<String>,
}

/// Moves of all servers of this process so far, and changes of how they are spoken to: while there are no more, no server is elsewhere.
static MOVES: AtomicU64 = AtomicU64::new(0);
/// Servers of this process that are half open.
static HALF_OPEN: AtomicU32 = AtomicU32::new(0);
/// Servers of this process that have failed since their last success.
static FAILING: AtomicU32 = AtomicU32::new(0);

/// Where a server was at some time; see [`ServerState::is_still_at`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Whereabouts {
    /// Of all servers, before the version was read.
    moves: u64,
    version: u64,
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
        self.has_moved();
    }

    /// Where it is, for [`ServerState::is_still_at`]. To be asked before the endpoint is.
    pub fn whereabouts(&self) -> Whereabouts {
        let moves = MOVES.load(Ordering::Acquire);
        Whereabouts { moves, version: self.endpoint_version() }
    }

    /// Whether it has not moved since. It is looked at only if any server has.
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

    /// How TLS is spoken to it; `None` = plaintext.
    pub fn connector(&self) -> Option<Arc<TlsConnector>> {
        self.connector.load_full()
    }

    /// Changes how TLS is spoken to it; connections made before are not used again.
    pub fn set_connector(&self, connector: Option<TlsConnector>) {
        self.connector.store(connector.map(Arc::new));
        self.has_moved();
    }

    /// Notes that a request has ended.
    pub fn touch(&self, now: Instant) {
        let ms = now.saturating_duration_since(self.started).as_millis() as u64;
        // Within one millisecond the first request says it for all: a store would take the line from the other workers.
        if self.last_used_ms.load(Ordering::Relaxed) != ms.max(1) {
            self.last_used_ms.store(ms.max(1), Ordering::Relaxed);
        }
    }

    /// When it last ended a request, in milliseconds since it was made; 0 = never.
    pub(crate) fn last_used_ms(&self) -> u64 {
        self.last_used_ms.load(Ordering::Relaxed)
    }

    /// How long ago a request last ended; `None` = there was none.
    pub fn idle_for(&self) -> Option<Duration> {
        match self.last_used_ms.load(Ordering::Relaxed) {
            0 => None,
            ms => Some(self.started.elapsed().saturating_sub(Duration::from_millis(ms))),
        }
    }

    /// The limit to begin with under a rule, or the one that was found under it; none without a rule.
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

    /// A request has ended after so long. Returns the limit, if it was judged anew. Under contention one request more or
    /// less does not matter: nobody waits.
    pub(crate) fn learn(
        &self,
        rule: &ConcurrencyRule,
        now: Instant,
        latency: Duration,
        failed: bool,
    ) -> Option<u32> {
        let mut concurrency = self.concurrency.try_lock().ok()?;
        // A request of a plan that is no longer in force must not bring a limit back.
        let concurrency = concurrency.as_mut()?;
        let now_us = now.saturating_duration_since(self.started).as_micros() as u64;
        let judged = concurrency.ended(rule, now_us, latency.as_micros() as u64, self.load.active(), failed);
        judged.then(|| concurrency.limit(rule))
    }

    /// The next of several addresses to try.
    pub fn next_rotation(&self) -> usize {
        self.rotation.fetch_add(1, Ordering::Relaxed) as usize
    }

    /// Half open from now on, until so many requests have succeeded; 0 = no longer.
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

    /// While it is half open: how many requests have to succeed; 0 = it is not.
    pub fn probes_wanted(&self) -> u32 {
        self.probes_wanted.load(Ordering::Relaxed)
    }

    /// While it is half open: no more requests are to be with it at once. What it had before is not over yet, and must not keep
    /// it from being probed.
    pub fn probe_limit(&self) -> Option<u32> {
        let wanted = self.probes_wanted();
        (wanted > 0).then(|| wanted.saturating_add(self.probes_beside.load(Ordering::Relaxed)))
    }

    /// The turn that a request belongs to which it is given now; none while it is not half open.
    pub(crate) fn probe_turn(&self) -> Option<u32> {
        let is_half_open = HALF_OPEN.load(Ordering::Relaxed) > 0 && self.probes_wanted() > 0;
        is_half_open.then(|| self.probe_turn.load(Ordering::Relaxed))
    }

    /// How many have succeeded.
    pub fn probes_passed(&self) -> u32 {
        self.probes_passed.load(Ordering::Relaxed)
    }

    /// How many have failed.
    pub fn probes_failed(&self) -> u32 {
        self.probes_failed.load(Ordering::Relaxed)
    }

    /// A request of that turn has succeeded. Returns whether that was the last one that was wanted.
    pub(crate) fn probe_passed(&self, turn: Option<u32>) -> bool {
        // Nearly always none: then nothing is looked at that no cache may hold.
        turn.is_some()
            && turn == self.probe_turn()
            && self.probes_passed.fetch_add(1, Ordering::Relaxed).saturating_add(1) == self.probes_wanted()
    }

    /// A request of that turn has failed. Returns whether that concerns the present one.
    pub(crate) fn probe_failed(&self, turn: Option<u32>) -> bool {
        let concerns = turn.is_some() && turn == self.probe_turn();
        if concerns {
            self.probes_failed.fetch_add(1, Ordering::Relaxed);
        }
        concerns
    }

    /// Notes a success, for passive ejection.
    pub fn succeeded(&self) {
        // Nearly always zero already, and then no other worker's cache line is touched.
        if FAILING.load(Ordering::Relaxed) > 0
            && self.consecutive_failures.load(Ordering::Relaxed) > 0
            && self.consecutive_failures.swap(0, Ordering::Relaxed) > 0
        {
            FAILING.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Notes a failure; returns how many there were in a row.
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
