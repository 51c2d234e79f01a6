use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use weir_balance::Roster;
use weir_config::plan::PoolPlan;
use weir_http::RetryBudget;

use super::{PoolBreaker, PoolCounters, PoolQueue, PoolRoom, ServerState, Shards};

/// One pool as the workers see it: fixed settings, and a view of its servers that is swapped as a whole.
#[derive(Debug)]
pub struct PoolState {
    /// Its settings. The servers in here are those of the file; the true ones are in the view.
    pub plan: PoolPlan,
    /// What was counted, kept over reloads.
    pub counters: Arc<Shards<PoolCounters>>,
    /// Those who wait for a server, kept over reloads.
    pub queue: Arc<PoolQueue>,
    /// Requests in flight, where the pool as a whole has a limit; kept over reloads.
    pub room: Arc<PoolRoom>,
    /// One for all workers: retries are rare, and only they look at it.
    retry_budget: Mutex<RetryBudget>,
    /// Since it was made; what a clock counts from here.
    started: Instant,
    /// 95 of 100 responses begin within so many microseconds; 0 = not known. Kept over reloads.
    pub(crate) first_byte_p95_us: Arc<AtomicU64>,
    /// Keeps requests away while too many fail; kept over reloads.
    pub breaker: Arc<PoolBreaker>,
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

impl PoolState {
    /// A pool with its first view.
    pub fn new(plan: PoolPlan, counters: Arc<Shards<PoolCounters>>, view: PoolView) -> Self {
        let requests_total = counters.sum(|shard| shard.requests.get());
        let retry = &plan.retry;
        let budget = RetryBudget::new(retry.budget_percent, retry.budget_min_per_second, 0, requests_total);
        Self {
            retry_budget: Mutex::new(budget),
            started: Instant::now(),
            room: Arc::new(PoolRoom::new(plan.connections_max)),
            plan,
            counters,
            queue: Arc::default(),
            first_byte_p95_us: Arc::default(),
            breaker: Arc::default(),
            view: ArcSwap::from_pointee(view),
            generation: AtomicU64::new(1),
        }
    }

    /// In place of `former`, whose waiters wait for the same servers.
    pub fn succeeding(mut self, former: &Self) -> Self {
        self.queue = Arc::clone(&former.queue);
        self.room = Arc::clone(&former.room);
        self.room.limit(self.plan.connections_max);
        self.breaker = Arc::clone(&former.breaker);
        self.first_byte_p95_us = Arc::clone(&former.first_byte_p95_us);
        if self.plan.breaker.is_none() {
            self.breaker.reset();
        }
        self
    }

    /// Whether the budget permits a retry, which is then taken from it.
    pub(crate) fn take_retry(&self, now: Instant) -> bool {
        let now_ms = now.saturating_duration_since(self.started).as_millis() as u64;
        let requests_total = self.counters.sum(|shard| shard.requests.get());
        let mut budget = self.retry_budget.lock().unwrap_or_else(PoisonError::into_inner);
        budget.take(now_ms, requests_total)
    }

    /// How long a server may be silent before a second one is asked as well; `None` = for ever, or not known.
    pub(crate) fn hedge_delay(&self) -> Option<Duration> {
        match self.plan.hedge.as_ref()?.delay {
            Some(delay) => Some(delay.duration()),
            None => match self.first_byte_p95_us.load(Ordering::Relaxed) {
                0 => None,
                us => Some(Duration::from_micros(us)),
            },
        }
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
        self.view.store(Arc::new(view));
        self.generation.fetch_add(1, Ordering::Release);
        // Requests that began or ended while the roster was being made are not in its keys yet.
        roster.refresh_all();
        self.revise_queue();
    }
    /// Calls as many of those who wait as there is room for. O(number of servers) if anybody does.
    pub fn revise_queue(&self) {
        if self.queue.length() > 0 {
            let room = match self.view.load().roster.room() {
                // They all learn that no server is left.
                None => u64::MAX,
                Some(room) => room.min(self.room.left()),
            };
            self.queue.changed(room);
        }
    }
}
