//! One worker: a thread with its own event loop, buffers, timers, server connections and counters. Nothing in here is
//! shared; what is shared is behind [`Shared`].

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

/// All servers' idle connections are looked at in so many turns of housekeeping, once a second.
const SWEEP_TURNS: usize = 5;
/// Where memory is short, so many connections give way in one turn of housekeeping.
const SAVED_AT_A_TURN: usize = 256;
/// In more turns where these would be more servers in one.
const SWEPT_AT_A_TURN: usize = 400;

/// What a worker's tasks share among themselves.
pub(crate) struct Worker {
    /// Its number, from 0: which shard of each counter is its own.
    pub(crate) thread: usize,
    pub(crate) shared: Arc<Shared>,
    pub(crate) scratch: RefCell<Scratch>,
    /// Heads are written here before they are sent.
    pub(crate) out: RefCell<Vec<u8>>,
    pub(crate) headers: RefCell<HeaderTable>,
    pub(crate) buffers: BufferPool,
    /// Clients' connections live in here.
    pub(crate) connections: BoxPool<Connection>,
    /// Whose they are, and which of them are idle.
    pub(crate) table: ConnectionTable,
    /// Requests on their way live in here.
    pub(crate) exchanges: BoxPool<Exchange>,
    pub(crate) pipes: PipePool,
    pub(crate) timers: Rc<Timers>,
    /// Connections and sessions that are open here.
    pub(crate) open: Cell<usize>,
    /// How far stopping has come.
    pub(crate) drain: Cell<Drain>,
    /// Told when a connection has ended.
    pub(crate) ended: Notify,
    /// The clock as of the last look.
    clock: Cell<Instant>,
    /// Of the time that all workers share.
    millis: Ticks,
    /// The date as text, and when its second ends; `None` = it was never asked for.
    date: RefCell<(Option<Instant>, Rc<str>)>,
    random: Cell<u64>,
    /// Which part of the servers is looked after next.
    sweep_turns: Cell<Turns>,
    flood: Cell<Flood>,
    /// When it last asked other workers for descriptors.
    others_asked: Cell<Option<Instant>>,
    /// Newcomers that wait for what other workers say.
    room_seekers: Cell<u32>,
    live: RefCell<Rc<LocalLive>>,
    /// Plans that are no longer in force. Idle connections, and requests on their way, still hold them.
    retired: RefCell<Vec<Weak<LocalLive>>>,
}

/// How far a worker has come in stopping.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Drain {
    /// Not at all.
    No,
    /// Nothing new is accepted, and every response says that its connection ends.
    Finish,
    /// Connections without a request are closed.
    CloseIdle,
    /// The deadline has passed: everything ends.
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

    /// The plan in force.
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

    /// This worker's view of a plan that may have been replaced before the worker looked.
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

    /// The plan in force, and those that are still held.
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

    /// Whether `live` is still the plan in force.
    pub(crate) fn is_current(&self, live: &LocalLive) -> bool {
        live.generation() == self.shared.generation()
    }

    /// The time of the last [`Worker::look_at_clock`]. A request asks for the time at a dozen places; what lies
    /// between them is well under a microsecond, and a look costs more than that much thought.
    pub(crate) fn now(&self) -> Instant {
        self.clock.get()
    }

    /// The same, in milliseconds since the start that all workers share ([`Shared::millis`]).
    pub(crate) fn now_ms(&self) -> u64 {
        self.millis.of(self.clock.get())
    }

    /// The time now. To be called when an event is taken up.
    pub(crate) fn look_at_clock(&self) -> Instant {
        let now = Instant::now();
        self.clock.set(now);
        now
    }

    /// A connection has ended; while stopping, it may have been the last.
    pub(crate) fn connection_ended(&self) {
        if self.drain.get() != Drain::No {
            self.ended.notify_one();
        }
    }

    /// Closes idle server connections that are no longer good, and hands log lines over. Some servers at a time.
    pub(crate) fn keep_house(&self) {
        // What is swept out of a gauge must be in it.
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

    /// Gives back what is only kept for later, and has connections that wait for their clients give way.
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

    /// After a flood of connections, what they needed goes back to the kernel.
    fn return_memory(&self) {
        let mut flood = self.flood.get();
        if flood.is_over(self.shared.open.now()) {
            let thread = std::thread::Builder::new().name("memory".to_owned());
            // Without a thread for it, the memory is used again by the next flood.
            let _ = thread.spawn(weir_net::return_freed_memory);
        }
        self.flood.set(flood);
    }

    /// The time for a Date header, worked out once a second.
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

    /// Hands log lines over.
    pub(crate) fn flush_log(&self) {
        for live in self.all_live() {
            if let Some(log) = &live.log {
                log.borrow_mut().flush();
            }
        }
    }

    /// 64 random bits (xorshift64*, Vigna 2014): for choices, never for secrets.
    pub(crate) fn random(&self) -> u64 {
        let mut state = self.random.get();
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        self.random.set(state);
        state.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }
}
