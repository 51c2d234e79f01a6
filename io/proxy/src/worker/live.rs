//! The plan as one worker sees it.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use weir_config::plan::{ClientTimeouts, TcpPlan};
use weir_model::ListenerName;

use super::pool::KnownServers;
use super::{LocalPool, Worker};
use crate::access_log::AccessLogBatch;
use crate::socket_name::SocketName;
use crate::state::{HttpListener, ListenerCounters, ListenerState, Live, ModeState, Shared};

/// A plan as one worker sees it.
pub(crate) struct LocalLive {
    pub(crate) shared: Arc<Live>,
    generation: u64,
    listeners: Vec<LocalListener>,
    pools: Vec<Rc<LocalPool>>,
    /// This worker's access log lines; `None` = no access log. Dropping the plan hands over the rest.
    pub(crate) log: Option<RefCell<AccessLogBatch>>,
}

/// Generation of a plan that is no longer in force; real generations begin at 1.
const REPLACED: u64 = 0;

/// A listener as one worker sees it.
#[derive(Clone)]
pub(crate) enum LocalListener {
    /// HTTP.
    Http(Rc<LocalHttp>),
    /// TCP.
    Tcp(Rc<LocalTcp>),
}

/// An HTTP listener.
pub(crate) struct LocalHttp {
    pub(crate) shared: Arc<ListenerState>,
    pub(crate) http: Arc<HttpListener>,
}

/// A TCP listener.
pub(crate) struct LocalTcp {
    pub(crate) shared: Arc<ListenerState>,
    pub(crate) tcp: Arc<TcpPlan>,
}

impl LocalLive {
    /// Creates this worker's view of the plan in force. Pools that did not change since `previous` are kept,
    /// with their idle connections and the state of their algorithm.
    pub(crate) fn new(process: &Arc<Shared>, thread: usize, seed: u64, previous: Option<&Self>) -> Self {
        // Reads the generation before the plan: if a new plan is published in between, the worker looks once
        // more.
        let generation = process.generation();
        Self::of(process, (process.live(), generation), thread, seed, previous)
    }

    /// Creates a view of a plan that is no longer in force. Pools that it shares with `current` are kept.
    pub(crate) fn replaced(
        process: &Arc<Shared>,
        plan: &Arc<Live>,
        thread: usize,
        seed: u64,
        current: &Self,
    ) -> Self {
        Self::of(process, (Arc::clone(plan), REPLACED), thread, seed, Some(current))
    }

    fn of(
        process: &Arc<Shared>,
        (shared, generation): (Arc<Live>, u64),
        thread: usize,
        seed: u64,
        previous: Option<&Self>,
    ) -> Self {
        let old_pools = previous.map(|previous| previous.pools.as_slice()).unwrap_or_default();
        let mut known: KnownServers = old_pools.iter().flat_map(|pool| pool.view().known()).collect();
        let pools = shared.pools.iter().enumerate().map(|(index, pool)| {
            match old_pools.iter().find(|old| Arc::ptr_eq(&old.shared, pool)) {
                Some(old) => Rc::clone(old),
                None => {
                    let seed = seed.wrapping_add((index as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15));
                    Rc::new(LocalPool::new(Arc::clone(pool), process, thread, seed, &mut known))
                }
            }
        });
        let pools = pools.collect();
        let listeners = shared.listeners.iter().map(LocalListener::new).collect();
        let log = shared.access_log.as_ref().map(|port| RefCell::new(port.batch()));
        Self { shared, generation, listeners, pools, log }
    }

    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    /// Returns the pool with this index in the plan.
    pub(crate) fn pool(&self, index: usize) -> Option<&Rc<LocalPool>> {
        self.pools.get(index)
    }

    pub(crate) fn pools(&self) -> &[Rc<LocalPool>] {
        &self.pools
    }

    /// Returns the listener that an open socket belongs to.
    pub(crate) fn listener_of(&self, socket: &SocketName) -> Option<&LocalListener> {
        let (index, _) = socket.owner(self.shared.listeners.iter().map(|listener| &listener.plan))?;
        self.listeners.get(index)
    }

    pub(crate) fn listener(&self, name: &ListenerName) -> Option<&LocalListener> {
        self.listeners.iter().find(|listener| listener.shared().plan.name == *name)
    }
}

impl LocalListener {
    fn new(shared: &Arc<ListenerState>) -> Self {
        let shared = Arc::clone(shared);
        match &shared.mode {
            ModeState::Http(http) => Self::Http(Rc::new(LocalHttp { http: Arc::clone(http), shared })),
            ModeState::Tcp(tcp) => Self::Tcp(Rc::new(LocalTcp { tcp: Arc::clone(tcp), shared })),
        }
    }

    pub(crate) fn shared(&self) -> &Arc<ListenerState> {
        match self {
            Self::Http(http) => &http.shared,
            Self::Tcp(tcp) => &tcp.shared,
        }
    }
}

impl LocalHttp {
    pub(crate) fn name(&self) -> &str {
        self.shared.plan.name.as_str()
    }

    /// Returns this worker's counters for the listener.
    pub(crate) fn counters(&self, worker: &Worker) -> &ListenerCounters {
        self.shared.counters.of(worker.thread)
    }

    pub(crate) fn timeouts(&self) -> &ClientTimeouts {
        &self.http.plan.timeouts
    }
}

impl LocalTcp {
    /// Returns this worker's counters for the listener.
    pub(crate) fn counters(&self, worker: &Worker) -> &ListenerCounters {
        self.shared.counters.of(worker.thread)
    }
}
