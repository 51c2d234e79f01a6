use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use weir_balance::{Pick, PickInput, Picker};
use weir_health::TrafficOutcome;

use super::server::LocalServer;
use crate::state::{PoolCounters, PoolState, PoolView, ServerState, Shared};

/// A pool as one worker sees it.
pub(crate) struct LocalPool {
    pub(crate) shared: Arc<PoolState>,
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
    /// The pool has a limit, and this counts against it.
    in_room: bool,
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

    /// This worker's counters for it.
    pub(crate) fn counters(&self) -> &PoolCounters {
        self.shared.counters.of(self.thread)
    }

    /// Chooses a server and claims it.
    pub(crate) fn choose(self: &Rc<Self>, source: Option<IpAddr>, random: u64, exclude: &[usize]) -> Choice {
        let view = self.view();
        let Some(in_room) = self.shared.room.claim() else {
            return if view.shared.roster.members().is_empty() { Choice::Nobody } else { Choice::Busy };
        };
        let choice = self.choose_in(&view, &PickInput { source, random, exclude });
        match choice {
            Ok(server) => Choice::Server(Lease { pool: Rc::clone(self), server, in_room }),
            Err(none) => {
                if in_room {
                    self.shared.room.give_back();
                    // Somebody may have seen the pool full in between.
                    self.revise_queue();
                }
                none
            }
        }
    }

    fn choose_in(&self, view: &LocalView, input: &PickInput<'_>) -> Result<Rc<LocalServer>, Choice> {
        for _ in 0..Self::PICKS_MAX {
            let slot = match self.picker.borrow_mut().pick(&view.shared.roster, input) {
                Pick::Busy => return Err(Choice::Busy),
                Pick::Nobody => return Err(Choice::Nobody),
                Pick::Server(slot) => slot,
            };
            let server = view.servers.get(slot).and_then(Option::as_ref).ok_or(Choice::Nobody)?;
            // Another worker may have taken the server's last place since the pick.
            if view.shared.roster.try_begin(slot) {
                return Ok(Rc::clone(server));
            }
        }
        Err(Choice::Busy)
    }

    /// How often a pick may lose a race for a server's last place before all are taken to be busy.
    const PICKS_MAX: usize = 4;

    /// Whether there are servers, but all of them, or the pool as a whole, are at their limit.
    pub(crate) fn is_busy(&self) -> bool {
        let roster = &self.view().shared.roster;
        let is_full = || self.shared.room.left() == 0 && !roster.members().is_empty();
        roster.is_busy() || is_full()
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
            self.alarm();
        }
    }

    /// A server has answered after so long, or failed: its limit may change.
    pub(crate) fn learn(&self, server: &LocalServer, now: Instant, latency: Duration, failed: bool) {
        if let Some(rule) = &self.shared.plan.concurrency
            && let Some(limit) = server.shared.learn(rule, now, latency, failed)
        {
            self.view().shared.roster.limit(server.shared.slot, &server.shared.load, limit);
            self.revise_queue();
        }
    }

    /// Has the control plane look at the traffic.
    pub(super) fn alarm(&self) {
        self.process.traffic_alarm.notify_one();
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

impl Drop for Lease {
    fn drop(&mut self) {
        let pool = &self.pool;
        let (view, slot) = (pool.view(), self.server.shared.slot);
        view.shared.roster.end(slot, &self.server.shared.load);
        if self.in_room {
            pool.shared.room.give_back();
        }
        let freed = || view.shared.roster.has_room(slot) && pool.shared.room.left() > 0;
        pool.shared.queue.ended(freed, || !pool.is_busy());
    }
}
