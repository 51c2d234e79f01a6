use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use weir_balance::{Roster, Standing};
use weir_config::KeyReader;
use weir_config::plan::PoolPlan;
use weir_http::{PathRules, PathSet, RetryBudget};

use super::{
    Padded, PoolBreaker, PoolCounters, PoolRoom, RequestQueue, Retries, Retrying, ServerState, Shards,
};
use crate::redirect::Redirect;
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
    pub queue: Arc<Padded<RequestQueue>>,
    /// Who has which server; `None` = each request is balanced by itself.
    pub sticky: Option<Arc<StickyState>>,
    /// Requests in flight, where the pool as a whole has a limit; kept over reloads.
    pub room: Arc<PoolRoom>,
    /// One for all workers: retries are rare, and only they look at it.
    retry_budget: Mutex<RetryBudget>,
    /// Requests that are being tried again; kept over reloads.
    retries: Arc<Retries>,
    /// Since it was made; what a clock counts from here.
    started: Instant,
    /// 95 of 100 responses begin within so many microseconds; 0 = not known. Kept over reloads.
    pub(crate) first_byte_p95_us: Arc<AtomicU64>,
    /// Keeps requests away while too many fail; kept over reloads.
    pub breaker: Arc<PoolBreaker>,
    /// Sends clients on to the servers; `None` = it does not.
    pub redirect: Option<Redirect>,
    view: ArcSwap<PoolView>,
    generation: AtomicU64,
}

/// A pool's servers at one instant.
#[derive(Debug)]
pub struct PoolView {
    /// Who may be chosen.
    pub roster: Arc<Roster>,
    /// By slot. The very same from one view to the next as long as no server comes or goes.
    pub servers: Arc<[Option<Arc<ServerState>>]>,
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
        let static_paths = PathSet::compile(&weights.static_paths, Some(&PathRules::default()))
            .ok()
            .filter(|_| weights.is_on);
        if let Some(sticky) = &sticky {
            sticky.follow(&view.servers);
        }
        let requests_total = counters.sum(|shard| shard.requests.get());
        let retry = &plan.retry;
        let budget = RetryBudget::new(retry.budget_percent, retry.budget_min_per_second, 0, requests_total);
        Self {
            retry_budget: Mutex::new(budget),
            retries: Arc::default(),
            started: Instant::now(),
            room: Arc::new(PoolRoom::new(plan.connections_max)),
            plan,
            key,
            static_paths,
            counters,
            queue: Arc::default(),
            sticky,
            first_byte_p95_us: Arc::default(),
            breaker: Arc::default(),
            redirect: None,
            view: ArcSwap::from_pointee(view),
            generation: AtomicU64::new(1),
        }
    }

    /// Sends clients on to its servers by this.
    pub fn redirecting(mut self, redirect: Option<Redirect>) -> Self {
        self.redirect = redirect;
        self
    }

    /// In place of `former`, whose waiters wait for the same servers.
    pub fn succeeding(mut self, former: &Self) -> Self {
        self.queue = Arc::clone(&former.queue);
        self.room = Arc::clone(&former.room);
        self.room.limit(self.plan.connections_max);
        self.retries = Arc::clone(&former.retries);
        self.breaker = Arc::clone(&former.breaker);
        self.first_byte_p95_us = Arc::clone(&former.first_byte_p95_us);
        if self.plan.breaker.is_none() {
            self.breaker.reset();
        }
        self
    }

    /// A second try beside the first one, if the budget permits it, and not too many are being made. Drop it when it is over.
    pub(crate) fn take_hedge(&self, now: Instant) -> Option<Retrying> {
        self.take_retry(now, |budget, now_ms, requests_total| budget.take(now_ms, requests_total))
    }

    /// The same for a request whose server was lost: each one in flight may be tried again as often as the rule says.
    pub(crate) fn take_retry_of_lost(&self, now: Instant) -> Option<Retrying> {
        let active = self.counters.sum(|shard| shard.active.get());
        let at_once = active.saturating_mul(self.plan.retry.attempts.into());
        self.take_retry(now, |budget, now_ms, requests_total| {
            budget.take_for_lost(now_ms, requests_total, at_once)
        })
    }

    fn take_retry(
        &self,
        now: Instant,
        take: impl FnOnce(&mut RetryBudget, u64, u64) -> bool,
    ) -> Option<Retrying> {
        let retrying = self.retries.begin(self.retries_max())?;
        let now_ms = now.saturating_duration_since(self.started).as_millis() as u64;
        let requests_total = self.counters.sum(|shard| shard.requests.get());
        let mut budget = self.retry_budget.lock().unwrap_or_else(PoisonError::into_inner);
        take(&mut budget, now_ms, requests_total).then_some(retrying)
    }

    fn retries_max(&self) -> u32 {
        let rule = &self.plan.retry;
        let Some(percent) = rule.at_once_percent else { return u32::MAX };
        let active = self.counters.sum(|shard| shard.active.get());
        let share = active.saturating_mul(percent.into()) / 100;
        u32::try_from(share).unwrap_or(u32::MAX).max(rule.at_once_min)
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
        self.generation.load(Ordering::SeqCst)
    }

    /// Makes `view` the one that every worker uses from its next pick on. Only the control plane calls this.
    pub fn publish(self: &Arc<Self>, view: PoolView) {
        let view = Arc::new(view);
        if let Some(sticky) = &self.sticky {
            sticky.follow(&view.servers);
        }
        let before = self.view.swap(Arc::clone(&view));
        // Whoever enters a queue from now on sees that this has changed, or is seen in the queue below.
        self.generation.fetch_add(1, Ordering::SeqCst);
        // Requests that began or ended while the roster was being made are not in its keys yet.
        view.roster.refresh_all();
        if self.sticky.is_some() || !self.plan.hash.options.fallback {
            self.revise_all_bound(&before, &view);
        }
        if before.roster.members() != view.roster.members() {
            self.queue.forget_pace();
        }
        self.revise_queue();
    }

    /// Calls those who wait for one server and may go there now, or have to look for another. O(number of servers).
    fn revise_all_bound(self: &Arc<Self>, before: &PoolView, view: &PoolView) {
        // Another server may be the only one of their key.
        let moved = !self.plan.hash.options.fallback && !view.roster.shares_like(&before.roster);
        for server in before.servers.iter().flatten().filter(|server| server.bound.length() > 0) {
            let is_gone = !view.has(server) || view.roster.standing(server.slot) == Standing::Gone;
            if is_gone || moved {
                server.bound.call_all();
            } else {
                self.revise_bound(view, server);
            }
        }
    }

    /// Calls as many of those who wait as there is room for. O(number of servers) if anybody does.
    pub fn revise_queue(&self) {
        if self.queue.length() > 0 {
            let rooms = self.room.left();
            // Without a server left they all learn it.
            let places = self.view.load().roster.room().map_or(u64::MAX, |places| places.min(rooms));
            self.queue.changed(places, rooms);
        }
    }
}
