use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use arc_swap::ArcSwap;
use tokio::sync::Notify;
use tokio::sync::futures::Notified;
use weir_balance::Roster;
use weir_config::KeyReader;
use weir_config::plan::PoolPlan;
use weir_http::PathSet;

use super::{PoolCounters, ServerState, Shards};
use crate::sticky::StickyState;

/// One pool as the workers see it: fixed settings, and a view of its servers that is swapped as a whole.
#[derive(Debug)]
pub struct PoolState {
    /// Its settings. The servers in here are those of the file; the true ones are in the view.
    pub plan: PoolPlan,
    /// What its algorithm goes by; `None` = nothing.
    pub key: Option<KeyReader>,
    /// Requests for these make servers fetch, others compute; `None` = nobody asks.
    pub static_paths: Option<PathSet>,
    /// What was counted, kept over reloads.
    pub counters: Arc<Shards<PoolCounters>>,
    /// Those who wait for a server, kept over reloads.
    pub queue: Arc<Queue>,
    /// Who has which server; `None` = each request is balanced by itself.
    pub sticky: Option<Arc<StickyState>>,
    view: ArcSwap<PoolView>,
    generation: AtomicU64,
}

/// A pool's servers at one instant.
#[derive(Debug)]
pub struct PoolView {
    /// Who may be chosen.
    pub roster: Arc<Roster>,
    /// By slot.
    pub servers: Vec<Option<Arc<ServerState>>>,
}

/// Requests that wait because every server is at its limit.
#[derive(Debug, Default)]
pub struct Queue {
    waiting: AtomicU32,
    server_freed: Notify,
}

impl PoolState {
    /// A pool with its first view.
    pub fn new(
        plan: PoolPlan,
        counters: Arc<Shards<PoolCounters>>,
        sticky: Option<Arc<StickyState>>,
        view: PoolView,
    ) -> Self {
        // The config has let nothing through that does not compile.
        let key = KeyReader::compile(&plan).ok();
        let weights = &plan.auto_weight;
        let static_paths = PathSet::compile(&weights.static_paths).ok().filter(|_| weights.is_on);
        if let Some(sticky) = &sticky {
            sticky.follow(&view.servers);
        }
        Self {
            plan,
            key,
            static_paths,
            counters,
            queue: Arc::default(),
            sticky,
            view: ArcSwap::from_pointee(view),
            generation: AtomicU64::new(1),
        }
    }

    /// In place of `former`, whose waiters wait for the same servers.
    pub fn succeeding(mut self, former: &Self) -> Self {
        self.queue = Arc::clone(&former.queue);
        self
    }

    /// The servers now.
    pub fn view(&self) -> Arc<PoolView> {
        self.view.load_full()
    }

    /// Changes with every [`PoolState::publish`].
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Makes `view` the one that every worker uses from its next pick on. Only the control plane calls this.
    pub fn publish(&self, view: PoolView) {
        let roster = Arc::clone(&view.roster);
        if let Some(sticky) = &self.sticky {
            sticky.follow(&view.servers);
        }
        let before = self.view.swap(Arc::new(view));
        self.generation.fetch_add(1, Ordering::Release);
        // Requests that began or ended while the roster was being made are not in its keys yet.
        roster.refresh_all();
        self.queue.wake_all();
        if self.sticky.is_some() {
            // Whose server is no longer what it was may have to look for another.
            before.servers.iter().flatten().for_each(|server| server.bound.wake_all());
        }
    }
}

impl Queue {
    /// How many wait.
    pub fn length(&self) -> u32 {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Takes a place in the queue. Try to pick again after this, and before each wait: a server may have become free
    /// in between.
    pub fn enter(&self) -> QueuePlace<'_> {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        QueuePlace(self)
    }

    /// A request has ended: the first in the queue may try. False if nobody waits.
    pub fn wake_one(&self) -> bool {
        let is_waited_for = self.waiting.load(Ordering::SeqCst) > 0;
        if is_waited_for {
            self.server_freed.notify_one();
        }
        is_waited_for
    }

    /// Something has changed for all.
    fn wake_all(&self) {
        self.server_freed.notify_waiters();
    }
}

/// One waiter's place, left when dropped.
#[derive(Debug)]
pub struct QueuePlace<'a>(&'a Queue);

impl QueuePlace<'_> {
    /// Ready when a server may have become free. Make it before the last look: what happens from then on is not missed.
    pub fn server_freed(&self) -> Notified<'_> {
        self.0.server_freed.notified()
    }
}

impl Drop for QueuePlace<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}
