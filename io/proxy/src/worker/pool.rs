//! A pool as one worker sees it, and the worker's claims on its servers.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::hint::black_box;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use weir_balance::{Key, Pick, PickInput, Picker, RequestClass, Roster, Standing, Watch};
use weir_health::{EjectionRule, TrafficOutcome};

use super::Worker;
use super::server::LocalServer;
use crate::state::{Held, PoolCounters, PoolState, PoolView, ReservedPlace, ServerState, Shared};
use crate::sticky::Known;

/// A pool as one worker sees it.
pub(crate) struct LocalPool {
    pub(crate) shared: Arc<PoolState>,
    process: Arc<Shared>,
    thread: usize,
    generation: Cell<u64>,
    view: RefCell<Rc<LocalView>>,
    picker: RefCell<Picker>,
}

/// A pool's servers at one moment.
pub(crate) struct LocalView {
    shared: Arc<PoolView>,
    servers: Rc<[Option<Rc<LocalServer>>]>,
}

/// A request's claim on a server, which counts as an active request until it is dropped.
pub(crate) struct Lease {
    pool: Rc<LocalPool>,
    pub(crate) server: Rc<LocalServer>,
    watch: RefCell<Watch>,
    /// True if the pool has a limit and this claim counts against it.
    in_room: bool,
    /// Half-open turn of the server in which it got this request, if it was half open.
    probe_turn: Option<u32>,
}

/// Result of choosing a server.
pub(crate) enum Choice {
    /// This server is claimed.
    Server(Lease),
    /// Every server is at its limit.
    Busy,
    /// The only server that may have this request is at its limit.
    Full(Rc<LocalServer>),
    /// No server is available.
    Nobody,
}

/// Result of claiming a certain server.
pub(crate) enum Claim {
    /// The server is claimed.
    Server(Lease),
    /// The server is at its limit.
    Busy(Rc<LocalServer>),
    /// The pool is at its limit.
    Full,
    /// The server accepts no requests, or no longer exists.
    Gone,
}

impl LocalPool {
    pub(crate) fn new(
        shared: Arc<PoolState>,
        process: &Arc<Shared>,
        thread: usize,
        seed: u64,
        known: &mut KnownServers,
    ) -> Self {
        let generation = shared.generation();
        let view = LocalView::new(shared.view(), thread, known);
        Self {
            process: Arc::clone(process),
            thread,
            generation: Cell::new(generation),
            view: RefCell::new(Rc::new(view)),
            picker: RefCell::new(Picker::new(seed)),
            shared,
        }
    }

    /// Returns this worker's counters for the pool.
    pub(crate) fn counters(&self) -> &PoolCounters {
        self.shared.counters.of(self.thread)
    }

    /// Chooses a server by `key` and claims it. Servers in `exclude` are chosen only if no other member has
    /// room.
    pub(crate) fn choose(self: &Rc<Self>, worker: &Worker, key: Option<Key>, exclude: &[usize]) -> Choice {
        self.choose_with(worker, key, exclude, false)
    }

    /// Chooses a server as [`choose`](Self::choose) does, for a request that the servers in `failed` have
    /// failed. If these are all members, it chooses from the next tier.
    pub(super) fn choose_after(
        self: &Rc<Self>,
        worker: &Worker,
        key: Option<Key>,
        failed: &[usize],
    ) -> Choice {
        self.choose_with(worker, key, failed, !failed.is_empty())
    }

    fn choose_with(
        self: &Rc<Self>,
        worker: &Worker,
        key: Option<Key>,
        exclude: &[usize],
        crosses_tiers: bool,
    ) -> Choice {
        let view = self.view();
        let Some(in_room) = self.shared.room.claim() else {
            return if view.shared.roster.members().is_empty() { Choice::Nobody } else { Choice::Busy };
        };
        let now_ms = worker.now_ms();
        let input = PickInput { key, random: worker.random(), now_ms, exclude };
        let beyond = if crosses_tiers { self.claim_beyond(&view, exclude) } else { None };
        match beyond.map_or_else(|| self.choose_in(&view, &input), Ok) {
            Ok(server) => Choice::Server(self.lease(&view, server, now_ms, in_room)),
            Err(none) => {
                self.give_back(in_room);
                none
            }
        }
    }

    /// Claims a server outside the active tier, after all members have failed the request.
    #[cold]
    fn claim_beyond(&self, view: &LocalView, failed: &[usize]) -> Option<Rc<LocalServer>> {
        let slot = view.shared.roster.next_in_line(failed)?;
        let server = view.servers.get(slot)?.as_ref()?;
        view.shared.roster.try_begin_of(slot, &server.load).then(|| Rc::clone(server))
    }

    fn choose_in(&self, view: &LocalView, input: &PickInput<'_>) -> Result<Rc<LocalServer>, Choice> {
        for _ in 0..Self::PICKS_MAX {
            let slot = match self.picker.borrow_mut().pick(&view.shared.roster, input) {
                Pick::Busy => return Err(self.busy(view, input)),
                Pick::Nobody => return Err(Choice::Nobody),
                Pick::Server(slot) => slot,
            };
            let server = view.servers.get(slot).and_then(Option::as_ref).ok_or(Choice::Nobody)?;
            black_box(server.look());
            // Another worker may have taken the server's last place since the pick.
            if view.shared.roster.try_begin_of(slot, &server.load) {
                return Ok(Rc::clone(server));
            }
        }
        Err(self.busy(view, input))
    }

    /// Returns the server to wait for, or `Busy` if any server will do.
    fn busy(&self, view: &LocalView, input: &PickInput<'_>) -> Choice {
        let only = Picker::awaited_server(&view.shared.roster, input);
        let server = only.and_then(|slot| view.servers.get(slot)?.as_ref());
        server.map_or(Choice::Busy, |server| Choice::Full(Rc::clone(server)))
    }

    /// Claims a certain server, which may be in rotation or draining. `is_called`: the request has waited,
    /// and it is its turn.
    pub(crate) fn claim(self: &Rc<Self>, known: Known, is_called: bool) -> Claim {
        let view = self.view();
        let server = view.servers.get(known.slot).and_then(Option::as_ref);
        let Some(server) = server.filter(|server| server.shared.uid == known.uid) else { return Claim::Gone };
        let standing = view.shared.roster.standing(known.slot);
        if standing == Standing::Gone {
            return Claim::Gone;
        }
        // A new request must not overtake the waiting ones.
        if standing == Standing::Busy || (!is_called && server.shared.bound.length() > 0) {
            return Claim::Busy(Rc::clone(server));
        }
        if !is_called && self.shared.room.is_limited() && self.shared.queue.length() > 0 {
            return Claim::Full;
        }
        let Some(in_room) = self.shared.room.claim() else { return Claim::Full };
        if !view.shared.roster.try_begin(known.slot) {
            self.give_back(in_room);
            return Claim::Busy(Rc::clone(server));
        }
        let now_ms = if view.shared.roster.measures() { self.process.millis(Instant::now()) } else { 0 };
        Claim::Server(self.lease(&view, Rc::clone(server), now_ms, in_room))
    }

    /// Turns a reserved place into a lease. Returns `None` if its server accepts no more requests, or is
    /// gone.
    pub(super) fn redeem(self: &Rc<Self>, place: ReservedPlace) -> Option<Lease> {
        let view = self.view();
        let (uid, slot) = place.server()?;
        let server = view.servers.get(slot)?.as_ref().filter(|server| server.shared.uid == uid)?;
        if view.shared.roster.standing(slot) == Standing::Gone {
            return None;
        }
        let now_ms = if view.shared.roster.measures() { self.process.millis(Instant::now()) } else { 0 };
        Some(self.lease(&view, Rc::clone(server), now_ms, place.take()))
    }

    /// Creates the lease of a server that already counts the request.
    fn lease(
        self: &Rc<Self>,
        view: &LocalView,
        server: Rc<LocalServer>,
        now_ms: u64,
        in_room: bool,
    ) -> Lease {
        let watch = RefCell::new(view.shared.roster.watch(server.slot, now_ms));
        let probe_turn = server.shared.probe_turn();
        self.counters().active.one();
        Lease { pool: Rc::clone(self), server, watch, in_room, probe_turn }
    }

    /// Gives back an unused claim on the pool's room.
    fn give_back(&self, in_room: bool) {
        if in_room {
            self.shared.room.give_back();
            // Another request may have seen the pool full in between.
            self.revise_queue();
        }
    }

    /// Number of times that a pick may lose the race for a server's last place before all servers count as
    /// busy.
    const PICKS_MAX: usize = 4;

    /// Records whether a completed response was a success or a failure of the server.
    pub(crate) fn server_answered(&self, lease: &Lease, status: u16) {
        if TrafficOutcome::of_status(status).is_failure() {
            self.server_failed(lease);
        } else {
            lease.server.shared.succeeded();
        }
    }

    /// Records that a server has begun to serve a request. A probe passes at this point, because the response
    /// may take hours.
    pub(crate) fn server_serves(&self, lease: &Lease) {
        if lease.server.shared.probe_passed(lease.probe_turn) {
            self.alarm();
        }
    }

    /// Records that a server has failed a request; the control plane may eject it.
    pub(crate) fn server_failed(&self, lease: &Lease) {
        let server = &lease.server;
        server.counters().failures.one();
        self.counters().server_failures.one();
        let in_a_row = server.shared.failed();
        let is_row =
            |rule: &EjectionRule| rule.consecutive_failures > 0 && in_a_row >= rule.consecutive_failures;
        let was_probe = server.shared.probe_failed(lease.probe_turn);
        if was_probe || self.shared.plan.ejection.as_ref().is_some_and(is_row) {
            self.alarm();
        }
    }

    /// Records the latency of an answered or failed request, which may change the server's concurrency limit.
    pub(crate) fn learn(&self, server: &LocalServer, now: Instant, latency: Duration, failed: bool) {
        if let Some(rule) = &self.shared.plan.concurrency
            && let Some(limit) = server.shared.learn(rule, now, latency, failed)
        {
            self.view().shared.roster.limit(server.shared.slot, &server.shared.load, limit);
            self.revise_bound(server);
            self.revise_queue();
        }
    }

    /// Records a request that was given up after `waited`, as [`learn`](Self::learn) does. The real latency
    /// would have been longer, so only a wait that the rule considers too long is recorded; a short one does
    /// not show that the server is fast.
    pub(crate) fn learn_at_least(&self, server: &LocalServer, now: Instant, waited: Duration) {
        let is_bad = self.shared.plan.concurrency.is_some_and(|rule| rule.is_too_long(waited));
        if is_bad {
            self.learn(server, now, waited, false);
        }
    }

    /// Wakes the control plane to check the traffic.
    pub(super) fn alarm(&self) {
        self.process.traffic_alarm.notify_one();
    }

    /// Returns the current view of the servers.
    pub(crate) fn view(&self) -> Rc<LocalView> {
        let generation = self.shared.generation();
        if generation != self.generation.get() {
            let view = self.view.borrow().next(self.shared.view(), self.thread);
            *self.view.borrow_mut() = Rc::new(view);
            self.generation.set(generation);
        }
        Rc::clone(&self.view.borrow())
    }
}

/// A worker's servers by their unique id. It lets idle connections outlive a change of plan.
pub(crate) type KnownServers = HashMap<u64, Rc<LocalServer>>;

impl LocalView {
    fn new(shared: Arc<PoolView>, thread: usize, known: &mut KnownServers) -> Self {
        let local = |server: &Arc<ServerState>| {
            let fresh = || Rc::new(LocalServer::new(Arc::clone(server), thread));
            Rc::clone(known.entry(server.uid).or_insert_with(fresh))
        };
        let mut local = local;
        let servers = shared.servers.iter().map(|server| server.as_ref().map(&mut local)).collect();
        Self { shared, servers }
    }

    /// Creates the view for the pool's next state. A server keeps its slot, so it is looked up by slot. If no
    /// server was added or removed, the servers are shared without a look-up.
    fn next(&self, shared: Arc<PoolView>, thread: usize) -> Self {
        if Arc::ptr_eq(&shared.servers, &self.shared.servers) {
            return Self { shared, servers: Rc::clone(&self.servers) };
        }
        let local = |(slot, server): (usize, &Option<Arc<ServerState>>)| {
            let server = server.as_ref()?;
            let there = self.servers.get(slot).and_then(Option::as_ref);
            let kept = there.filter(|there| there.shared.uid == server.uid);
            Some(kept.map_or_else(|| Rc::new(LocalServer::new(Arc::clone(server), thread)), Rc::clone))
        };
        let servers = shared.servers.iter().enumerate().map(local).collect();
        Self { shared, servers }
    }

    /// Returns the view that all workers share.
    pub(super) fn shared(&self) -> &PoolView {
        &self.shared
    }

    /// Returns the servers that may be chosen.
    pub(super) fn roster(&self) -> &Roster {
        &self.shared.roster
    }

    /// Iterates over the servers.
    pub(crate) fn servers(&self) -> impl Iterator<Item = &Rc<LocalServer>> {
        self.servers.iter().flatten()
    }

    /// Returns the number of slots; some may be empty.
    pub(crate) fn slots(&self) -> usize {
        self.servers.len()
    }

    /// Iterates over the servers in these slots.
    pub(crate) fn in_slots(&self, slots: Range<usize>) -> impl Iterator<Item = &Rc<LocalServer>> {
        self.servers[slots].iter().flatten()
    }

    pub(crate) fn known(&self) -> KnownServers {
        self.servers().map(|server| (server.shared.uid, Rc::clone(server))).collect()
    }
}

impl Lease {
    /// Measures the time to the response's head, if the algorithm uses it. The first byte of a tunnel counts
    /// as a head with status 200.
    pub(crate) fn answered(&self, now: Instant, round_trip_us: u32, status: u16) {
        self.measure(|watch, roster| {
            let (now_ms, counts) = (self.pool.process.millis(now), counts(status));
            watch.answered(roster, &self.server.load, now_ms, round_trip_us.into(), counts);
        });
    }

    /// Records that no response had arrived `waited_us` after the request was sent, and that another server
    /// was faster.
    pub(crate) fn overtaken(&self, now: Instant, waited_us: u32) {
        self.measure(|watch, roster| {
            let now_ms = self.pool.process.millis(now);
            watch.overtaken(roster, &self.server.load, now_ms, waited_us.into());
        });
    }

    /// Records the service time of a request of this class, if weights are computed from it.
    pub(crate) fn took(&self, class: RequestClass, time_us: u32, status: u16) {
        if counts(status) {
            self.server.shared.took(class, time_us);
        }
    }

    /// Records the number of bytes transferred in both directions so far.
    pub(crate) fn moved(&self, now: Instant, bytes: u64) {
        self.measure(|watch, roster| {
            watch.moved(roster, &self.server.load, self.pool.process.millis(now), bytes);
        });
    }

    /// Records that the last byte of the response has arrived.
    pub(crate) fn completed(&self, now: Instant, status: u16) {
        self.measure(|watch, roster| {
            let now_ms = self.pool.process.millis(now);
            watch.completed(roster, &self.server.load, now_ms, counts(status));
        });
    }

    /// Returns true if the algorithm uses measurements.
    pub(crate) fn is_measured(&self) -> bool {
        self.watch.borrow().is_on()
    }

    fn measure(&self, measure: impl FnOnce(&mut Watch, &Roster)) {
        let mut watch = self.watch.borrow_mut();
        if watch.is_on() {
            measure(&mut watch, &self.pool.view().shared.roster);
        }
    }
}

/// Returns false for failures: a server that fails fast must not look fast.
fn counts(status: u16) -> bool {
    !TrafficOutcome::of_status(status).is_failure()
}

impl Drop for Lease {
    fn drop(&mut self) {
        let view = self.pool.view();
        let LocalServer { shared, slot, load, .. } = &*self.server;
        self.pool.counters().active.subtract(1);
        self.watch.get_mut().end(load);
        let held = Held { server: shared, slot: *slot, load, in_room: self.in_room };
        self.pool.shared.end(&view.shared, held);
    }
}

#[cfg(test)]
mod tests {
    use weir_balance::Algorithm;
    use weir_model::ServerName;

    use super::*;
    use crate::state::Endpoint;

    /// Creates a server with this unique id; the name is the same for all.
    fn server(uid: u64, slot: usize) -> Option<Arc<ServerState>> {
        let name = ServerName::new("s").unwrap();
        Some(Arc::new(ServerState::new(uid, name, String::new(), slot, Endpoint::Unresolved, 1)))
    }

    fn view(servers: &Arc<[Option<Arc<ServerState>>]>) -> Arc<PoolView> {
        let roster = Arc::new(Roster::new(Algorithm::RoundRobin, Vec::new(), None));
        Arc::new(PoolView { roster, servers: Arc::clone(servers) })
    }

    fn uids(view: &LocalView) -> Vec<Option<u64>> {
        view.servers.iter().map(|server| server.as_ref().map(|server| server.shared.uid)).collect()
    }

    #[test]
    fn a_workers_servers_stay_its_own_as_long_as_they_are_the_same() {
        let before: Arc<[_]> = vec![server(1, 0), server(2, 1), server(3, 2)].into();
        let first = LocalView::new(view(&before), 0, &mut KnownServers::new());
        let second = first.next(view(&before), 0);
        assert!(Rc::ptr_eq(&first.servers, &second.servers), "nobody came or went");

        // Server 2 is gone and 4 has its slot; 3 is gone and its slot is empty; 5 has a new slot.
        let after: Arc<[_]> = vec![before[0].clone(), server(4, 1), None, server(5, 3)].into();
        let third = second.next(view(&after), 0);
        assert_eq!(uids(&third), [Some(1), Some(4), None, Some(5)]);
        let same = |at: usize| {
            let (old, new) = (first.servers[at].as_ref().unwrap(), third.servers[at].as_ref().unwrap());
            Rc::ptr_eq(old, new)
        };
        assert!(same(0) && !same(1), "its idle connections are for whom they were made to");
        assert_eq!(third.known().len(), 3);

        // A server that returns with another id is a different server; a smaller number of slots is valid.
        let fewer: Arc<[_]> = vec![server(6, 0)].into();
        let fourth = third.next(view(&fewer), 0);
        assert_eq!(uids(&fourth), [Some(6)]);
        assert_eq!(uids(&fourth.next(view(&after), 0)), [Some(1), Some(4), None, Some(5)]);
    }
}
