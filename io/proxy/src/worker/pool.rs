use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use weir_balance::{Key, Pick, PickInput, Picker, RequestClass, Roster, Standing, Watch};
use weir_health::TrafficOutcome;
use weir_http::RetryBudget;

use super::Worker;
use super::server::LocalServer;
use crate::state::{PoolCounters, PoolState, PoolView, ServerState, Shared};
use crate::sticky::Known;

/// A pool as one worker sees it.
pub(crate) struct LocalPool {
    pub(crate) shared: Arc<PoolState>,
    pub(crate) retry_budget: RefCell<RetryBudget>,
    process: Arc<Shared>,
    thread: usize,
    generation: Cell<u64>,
    view: RefCell<Rc<LocalView>>,
    picker: RefCell<Picker>,
}

/// The servers at one instant.
pub(crate) struct LocalView {
    shared: Arc<PoolView>,
    servers: Vec<Option<Rc<LocalServer>>>,
}

/// A request's claim on a server: counted as active until dropped.
pub(crate) struct Lease {
    pool: Rc<LocalPool>,
    pub(crate) server: Rc<LocalServer>,
    watch: RefCell<Watch>,
}

/// What a worker's pick came to.
pub(crate) enum Choice {
    /// This one.
    Server(Lease),
    /// Every server is at its limit.
    Busy,
    /// No server is left.
    Nobody,
}

/// What a claim to a certain server came to.
pub(crate) enum Claim {
    /// It is this request's.
    Server(Lease),
    /// It is at its limit.
    Busy(Rc<LocalServer>),
    /// It takes nothing, or is no longer there.
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
        let retry = &shared.plan.retry;
        Self {
            retry_budget: RefCell::new(RetryBudget::new(
                retry.budget_percent,
                retry.budget_min_per_second,
                0,
            )),
            process: Arc::clone(process),
            thread,
            generation: Cell::new(generation),
            view: RefCell::new(Rc::new(view)),
            picker: RefCell::new(Picker::new(seed)),
            shared,
        }
    }

    /// This worker's counters for it.
    pub(crate) fn counters(&self) -> &PoolCounters {
        self.shared.counters.of(self.thread)
    }

    /// Chooses a server for a request that goes by `key`, and claims it.
    pub(crate) fn choose(self: &Rc<Self>, worker: &Worker, key: Option<Key>, exclude: &[usize]) -> Choice {
        let view = self.view();
        let now_ms = self.process.millis(worker.now());
        let input = PickInput { key, random: worker.random(), now_ms, exclude };
        for _ in 0..Self::PICKS_MAX {
            let slot = match self.picker.borrow_mut().pick(&view.shared.roster, &input) {
                Pick::Busy => return Choice::Busy,
                Pick::Nobody => return Choice::Nobody,
                Pick::Server(slot) => slot,
            };
            let Some(server) = view.servers.get(slot).and_then(Option::as_ref) else { return Choice::Nobody };
            // Another worker may have taken the server's last place since the pick.
            if view.shared.roster.try_begin(slot) {
                let watch = RefCell::new(view.shared.roster.watch(slot, now_ms));
                return Choice::Server(Lease { pool: Rc::clone(self), server: Rc::clone(server), watch });
            }
        }
        Choice::Busy
    }

    /// Claims a certain server, be it in rotation or draining.
    pub(crate) fn claim(self: &Rc<Self>, known: Known) -> Claim {
        let view = self.view();
        let server = view.servers.get(known.slot).and_then(Option::as_ref);
        let Some(server) = server.filter(|server| server.shared.uid == known.uid) else { return Claim::Gone };
        match view.shared.roster.standing(known.slot) {
            Standing::Gone => Claim::Gone,
            Standing::Open if view.shared.roster.try_begin(known.slot) => {
                let roster = &view.shared.roster;
                let now_ms = if roster.measures() { self.process.millis(Instant::now()) } else { 0 };
                let watch = RefCell::new(roster.watch(known.slot, now_ms));
                Claim::Server(Lease { pool: Rc::clone(self), server: Rc::clone(server), watch })
            }
            Standing::Open | Standing::Busy => Claim::Busy(Rc::clone(server)),
        }
    }

    /// Waits until any server may have become free.
    pub(crate) async fn any_freed(self: Rc<Self>) {
        let place = self.shared.queue.enter();
        let freed = place.server_freed();
        // A server may have become free between the pick and here.
        if self.is_busy() {
            freed.await;
        }
    }

    /// Waits until a certain server may have become free.
    pub(crate) async fn server_freed(self: Rc<Self>, server: Rc<LocalServer>) {
        let _counted = self.shared.queue.enter();
        let mut call = Call { pool: &self.shared, is_answered: false };
        let place = server.shared.bound.enter();
        let freed = place.server_freed();
        // It may have become free between the claim and here.
        if self.is_server_busy(&server) {
            freed.await;
        }
        call.is_answered = true;
    }

    /// Whether a server is at its limit, and will be able to take its clients' requests again.
    fn is_server_busy(&self, server: &LocalServer) -> bool {
        let view = self.view();
        let slot = server.shared.slot;
        let is_there = view.servers.get(slot).and_then(Option::as_ref);
        is_there.is_some_and(|there| there.shared.uid == server.shared.uid)
            && view.shared.roster.standing(slot) == Standing::Busy
    }

    /// How often a pick may lose a race for a server's last place before all are taken to be busy.
    const PICKS_MAX: usize = 4;

    /// Whether every server is at its limit.
    fn is_busy(&self) -> bool {
        self.view().shared.roster.is_busy()
    }

    /// Notes what a server's response says about its health.
    pub(crate) fn server_answered(&self, server: &LocalServer, status: u16) {
        if TrafficOutcome::of_status(status).is_failure() {
            self.server_failed(server);
        } else {
            server.shared.succeeded();
        }
    }

    /// Notes that a server has failed a request; the control plane may eject it.
    pub(crate) fn server_failed(&self, server: &LocalServer) {
        server.counters().failures.one();
        let in_a_row = server.shared.failed();
        if let Some(rule) = &self.shared.plan.ejection
            && rule.consecutive_failures > 0
            && in_a_row >= rule.consecutive_failures
        {
            self.process.traffic_alarm.notify_one();
        }
    }

    /// The servers, as of the last change.
    pub(crate) fn view(&self) -> Rc<LocalView> {
        let generation = self.shared.generation();
        if generation != self.generation.get() {
            let mut known = self.view.borrow().known();
            let view = LocalView::new(self.shared.view(), self.thread, &mut known);
            *self.view.borrow_mut() = Rc::new(view);
            self.generation.set(generation);
        }
        Rc::clone(&self.view.borrow())
    }
}

/// A worker's servers by their unique id, so that idle connections outlive a change of plan.
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

    /// The servers that there are.
    pub(crate) fn servers(&self) -> impl Iterator<Item = &Rc<LocalServer>> {
        self.servers.iter().flatten()
    }

    pub(crate) fn known(&self) -> KnownServers {
        self.servers().map(|server| (server.shared.uid, Rc::clone(server))).collect()
    }
}

/// Who gives up waiting for a server may have been called already: then the call goes on to those who take any.
struct Call<'a> {
    pool: &'a PoolState,
    is_answered: bool,
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        if !self.is_answered {
            self.pool.queue.wake_one();
        }
    }
}

impl Lease {
    /// The response's head has come: measures it, where the algorithm goes by that.
    /// A tunnel's first byte counts as one with status 200.
    pub(crate) fn answered(&self, now: Instant, round_trip_us: u32, status: u16) {
        self.measure(|watch, roster| {
            let (now_ms, counts) = (self.pool.process.millis(now), counts(status));
            watch.answered(roster, &self.server.shared.load, now_ms, round_trip_us.into(), counts);
        });
    }

    /// A request of this class was answered after so long: notes it, where weights are found by that.
    pub(crate) fn took(&self, class: RequestClass, time_us: u32, status: u16) {
        if counts(status) {
            self.server.shared.took(class, time_us);
        }
    }

    /// So many bytes have been moved in both directions so far.
    pub(crate) fn moved(&self, now: Instant, bytes: u64) {
        self.measure(|watch, roster| {
            watch.moved(roster, &self.server.shared.load, self.pool.process.millis(now), bytes);
        });
    }

    /// The response's last byte has come.
    pub(crate) fn completed(&self, now: Instant, status: u16) {
        self.measure(|watch, roster| {
            let now_ms = self.pool.process.millis(now);
            watch.completed(roster, &self.server.shared.load, now_ms, counts(status));
        });
    }

    /// Whether the algorithm goes by measurements.
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

/// A server that fails fast shall not look fast.
fn counts(status: u16) -> bool {
    !TrafficOutcome::of_status(status).is_failure()
}

impl Drop for Lease {
    fn drop(&mut self) {
        let view = self.pool.view();
        self.watch.get_mut().end(&self.server.shared.load);
        view.shared.roster.end(self.server.shared.slot, &self.server.shared.load);
        // Who waits for this very server is not helped by any other.
        if self.pool.shared.sticky.is_none() || !self.server.shared.bound.wake_one() {
            self.pool.shared.queue.wake_one();
        }
    }
}
