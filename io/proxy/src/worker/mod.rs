//! One worker: a thread with its own event loop, buffers, timers, server connections and counters. Workers
//! share only the state behind [`Shared`].

mod breaker;
mod connections;
mod flood;
mod habit;
mod kept;
mod live;
mod pool;
mod queue;
mod room_elsewhere;
mod scratch;
mod server;
mod shortage;
mod tally;

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tokio::sync::Notify;

use weir_http::HeaderTable;
use weir_net::{BoxPool, BufferPool, PipePool, Ticks, Timers};

pub(crate) use breaker::Pass;
pub(crate) use connections::{ConnectionTable, Source};
pub(crate) use live::{LocalHttp, LocalListener, LocalLive, LocalTcp};
pub(crate) use pool::{Choice, Claim, Lease, LocalPool};
pub(crate) use queue::{QueuePlace, Wanted};
pub(crate) use scratch::Scratch;
pub(crate) use server::{LocalServer, ServerConnection};
pub(crate) use shortage::{Room, is_shortage};
pub(crate) use tally::{Done, Response, Served, count_what_was_noted};

use crate::http::{Connection, Exchange};
use crate::state::{Full, Live, Shared};
use crate::turns::Turns;
use flood::Flood;

/// Number of housekeeping turns in which the idle connections of all servers are checked once a second.
const SWEEP_TURNS: usize = 5;
/// Number of connections that one housekeeping turn closes while memory is short.
const SAVED_AT_A_TURN: usize = 256;
/// Maximum number of servers checked in one turn; with more servers, a round takes more turns.
const SWEPT_AT_A_TURN: usize = 400;

/// State that the tasks of one worker share.
pub(crate) struct Worker {
    /// Number of the worker, from 0; it selects the worker's shard of each counter.
    pub(crate) thread: usize,
    pub(crate) shared: Arc<Shared>,
    pub(crate) scratch: RefCell<Scratch>,
    /// Buffer in which heads are written before they are sent.
    pub(crate) out: RefCell<Vec<u8>>,
    pub(crate) headers: RefCell<HeaderTable>,
    pub(crate) buffers: BufferPool,
    /// Allocations for client connections.
    pub(crate) connections: BoxPool<Connection>,
    /// Client and waiting time of each client connection.
    pub(crate) table: ConnectionTable,
    /// Allocations for requests in progress.
    pub(crate) exchanges: BoxPool<Exchange>,
    pub(crate) pipes: PipePool,
    pub(crate) timers: Rc<Timers>,
    /// Number of connections and sessions open in this worker.
    pub(crate) open: Cell<usize>,
    /// Progress of the shutdown.
    pub(crate) drain: Cell<Drain>,
    /// Notified when a connection has ended.
    pub(crate) ended: Notify,
    /// Time of the last [`Worker::look_at_clock`].
    clock: Cell<Instant>,
    /// Converts times to milliseconds since the start that all workers share.
    millis: Ticks,
    /// Date as text, and the end of its second; `None` = not computed yet.
    date: RefCell<(Option<Instant>, Rc<str>)>,
    random: Cell<u64>,
    /// Part of the servers to check next.
    sweep_turns: Cell<Turns>,
    flood: Cell<Flood>,
    /// Time at which this worker last asked other workers for descriptors.
    others_asked: Cell<Option<Instant>>,
    /// Number of new connections that wait for answers of other workers.
    room_seekers: Cell<u32>,
    live: RefCell<Rc<LocalLive>>,
    /// Plans that are no longer in force, but are still used by idle connections or requests in progress.
    retired: RefCell<Vec<Weak<LocalLive>>>,
}

/// Progress of a worker's shutdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Drain {
    /// The worker runs normally.
    No,
    /// The worker accepts no connections, and every response announces the end of its connection.
    Finish,
    /// Connections without a request are closed.
    CloseIdle,
    /// The deadline has passed: all connections are closed.
    Cut,
}

impl Worker {
    pub(crate) fn new(thread: usize, shared: Arc<Shared>, seed: u64) -> Rc<Self> {
        let live = LocalLive::new(&shared, thread, seed, None);
        let started = shared.started();
        Rc::new(Self {
            thread,
            shared,
            scratch: RefCell::new(Scratch::new()),
            out: RefCell::new(Vec::with_capacity(8 * 1024)),
            headers: RefCell::default(),
            buffers: BufferPool::default(),
            connections: BoxPool::default(),
            table: ConnectionTable::default(),
            exchanges: BoxPool::default(),
            pipes: PipePool::default(),
            timers: Timers::new(),
            open: Cell::new(0),
            drain: Cell::new(Drain::No),
            ended: Notify::new(),
            clock: Cell::new(Instant::now()),
            millis: Ticks::new(started, 1),
            date: RefCell::new((None, Rc::from(""))),
            random: Cell::new(seed | 1),
            sweep_turns: Cell::default(),
            flood: Cell::default(),
            others_asked: Cell::default(),
            room_seekers: Cell::default(),
            live: RefCell::new(Rc::new(live)),
            retired: RefCell::default(),
        })
    }

    /// Returns the plan in force.
    pub(crate) fn live(&self) -> Rc<LocalLive> {
        let generation = self.shared.generation();
        if self.live.borrow().generation() != generation {
            let current = Rc::clone(&self.live.borrow());
            let random = self.random();
            let next = LocalLive::new(&self.shared, self.thread, random, Some(&current));
            self.retired.borrow_mut().push(Rc::downgrade(&current));
            *self.live.borrow_mut() = Rc::new(next);
        }
        Rc::clone(&self.live.borrow())
    }

    /// Returns this worker's view of a plan that may have been replaced before the worker saw it.
    pub(crate) fn live_of(&self, plan: &Arc<Live>) -> Rc<LocalLive> {
        let held = self.all_live();
        if let Some(held) = held.iter().find(|live| Arc::ptr_eq(&live.shared, plan)) {
            return Rc::clone(held);
        }
        let current = self.live();
        let missed = Rc::new(LocalLive::replaced(&self.shared, plan, self.thread, self.random(), &current));
        self.retired.borrow_mut().push(Rc::downgrade(&missed));
        missed
    }

    /// Returns the plan in force and the older ones that are still in use.
    fn all_live(&self) -> Vec<Rc<LocalLive>> {
        let mut all = vec![self.live()];
        self.retired.borrow_mut().retain(|retired| {
            let held = retired.upgrade();
            let keep = held.is_some();
            all.extend(held);
            keep
        });
        all
    }

    /// Returns true if `live` is still the plan in force.
    pub(crate) fn is_current(&self, live: &LocalLive) -> bool {
        live.generation() == self.shared.generation()
    }

    /// Returns the time of the last [`Worker::look_at_clock`]. A request needs the time in a dozen places
    /// that are well under a microsecond apart, and reading the clock would cost more than the precision is
    /// worth.
    pub(crate) fn now(&self) -> Instant {
        self.clock.get()
    }

    /// Returns the same time in milliseconds since the start that all workers share ([`Shared::millis`]).
    pub(crate) fn now_ms(&self) -> u64 {
        self.millis.of(self.clock.get())
    }

    /// Reads the clock. Call it when the handling of an event begins.
    pub(crate) fn look_at_clock(&self) -> Instant {
        let now = Instant::now();
        self.clock.set(now);
        now
    }

    /// Records the end of a connection; during shutdown it may be the last one.
    pub(crate) fn connection_ended(&self) {
        if self.drain.get() != Drain::No {
            self.ended.notify_one();
        }
    }

    /// Closes idle server connections that are no longer usable, for a part of the servers at a time, and
    /// hands over log lines.
    pub(crate) fn keep_house(&self) {
        // Notes must be counted first: a gauge must include a connection before its removal is subtracted.
        count_what_was_noted();
        let all = self.all_live();
        let now = self.look_at_clock();
        let pools = || all.iter().flat_map(|live| live.pools());
        let servers: usize = pools().map(|pool| pool.view().slots()).sum();
        let mut turns = self.sweep_turns.get();
        let part = turns.next(servers, SWEPT_AT_A_TURN, SWEEP_TURNS);
        self.sweep_turns.set(turns);
        if self.thread == 0 {
            self.return_memory();
        }
        let mut before = 0;
        for pool in pools() {
            let (view, reuse) = (pool.view(), &pool.shared.plan.reuse);
            view.in_slots(part.of(before, view.slots())).for_each(|server| server.sweep(reuse, now));
            before += view.slots();
        }
        self.flush_log();
        if self.shared.memory.is_short() {
            self.save_memory();
        }
    }

    /// Frees memory that is kept for reuse, and closes client connections that wait for their clients.
    #[cold]
    fn save_memory(&self) {
        self.buffers.clear();
        self.connections.clear();
        self.exchanges.clear();
        self.pipes.close_free();
        let now = self.now();
        for pool in self.all_live().iter().flat_map(|live| live.pools()) {
            for server in pool.view().servers() {
                server.close_idle_since(now, usize::MAX);
            }
        }
        let nobody = (Source::ALONE, 0);
        for _ in 0..SAVED_AT_A_TURN {
            if !self.table.make_room(Full::Process, nobody, self.now_ms(), &self.timers) {
                break;
            }
        }
    }

    /// Returns the freed memory to the kernel after a flood of connections.
    fn return_memory(&self) {
        let mut flood = self.flood.get();
        if flood.is_over(self.shared.open.now()) {
            let thread = std::thread::Builder::new().name("memory".to_owned());
            // If the thread cannot be started, the memory stays for the next flood.
            let _ = thread.spawn(weir_net::return_freed_memory);
        }
        self.flood.set(flood);
    }

    /// Returns the time for a Date header, formatted once a second.
    pub(crate) fn http_date(&self) -> Rc<str> {
        let now = self.now();
        let mut date = self.date.borrow_mut();
        if date.0.is_none_or(|ends| now >= ends) {
            let today = SystemTime::now();
            let begun = today.duration_since(UNIX_EPOCH).map_or(0, |since| since.subsec_nanos());
            let left = Duration::from_secs(1).saturating_sub(Duration::from_nanos(begun.into()));
            *date = (Some(now + left), httpdate::fmt_http_date(today).into());
        }
        Rc::clone(&date.1)
    }

    /// Hands over the log lines.
    pub(crate) fn flush_log(&self) {
        for live in self.all_live() {
            if let Some(log) = &live.log {
                log.borrow_mut().flush();
            }
        }
    }

    /// Returns 64 random bits (xorshift64*, Vigna 2014), for choices and never for secrets.
    pub(crate) fn random(&self) -> u64 {
        let mut state = self.random.get();
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        self.random.set(state);
        state.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }
}
