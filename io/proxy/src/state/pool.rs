//! A pool as all workers see it, with its servers, its queue and its retry budget.

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

/// A pool as the workers see it: fixed settings, and a view of its servers that is replaced as a whole.
#[derive(Debug)]
pub struct PoolState {
    /// Settings of the pool. Its servers are those of the configuration file; the current servers are in the
    /// view.
    pub plan: PoolPlan,
    /// Reader for the key that the algorithm hashes; `None` = the algorithm uses no key.
    pub key: Option<KeyReader>,
    /// Paths of static files. Automatic weights count their requests separately, because a server fetches
    /// these responses instead of computing them. `None` = weights are not automatic, or the paths do not
    /// compile.
    pub static_paths: Option<PathSet>,
    /// Counters; a reload keeps them.
    pub counters: Arc<Shards<PoolCounters>>,
    /// Requests that wait for a server; a reload keeps them.
    pub queue: Arc<Padded<RequestQueue>>,
    /// Bindings of clients to servers; `None` = each request is balanced independently.
    pub sticky: Option<Arc<StickyState>>,
    /// Requests in flight, if the pool as a whole has a limit; a reload keeps the count.
    pub room: Arc<PoolRoom>,
    /// Retry budget, one for all workers: retries are rare, and only they take the lock.
    retry_budget: Mutex<RetryBudget>,
    /// Number of requests that are being retried; a reload keeps it.
    retries: Arc<Retries>,
    /// Creation time, the zero point of the budget's clock.
    started: Instant,
    /// 95th percentile of the time to the first response byte, in microseconds; 0 = unknown. A reload keeps
    /// it.
    pub(crate) first_byte_p95_us: Arc<AtomicU64>,
    /// Circuit breaker, which refuses requests while too many fail; a reload keeps it.
    pub breaker: Arc<PoolBreaker>,
    /// Rule that redirects clients to the servers; `None` = no redirects.
    pub redirect: Option<Redirect>,
    view: ArcSwap<PoolView>,
    generation: AtomicU64,
}

/// A pool's servers at one moment.
#[derive(Debug)]
pub struct PoolView {
    /// Servers that may be chosen.
    pub roster: Arc<Roster>,
    /// Servers by slot. Successive views share the same allocation as long as no server is added or removed.
    pub servers: Arc<[Option<Arc<ServerState>>]>,
}

impl PoolState {
    /// Creates a pool with its first view.
    pub fn new(
        plan: PoolPlan,
        counters: Arc<Shards<PoolCounters>>,
        sticky: Option<Arc<StickyState>>,
        view: PoolView,
    ) -> Self {
        // The configuration check has rejected every key that does not compile.
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

    /// Sets the rule that redirects clients to the servers.
    pub fn redirecting(mut self, redirect: Option<Redirect>) -> Self {
        self.redirect = redirect;
        self
    }

    /// Takes over the state of `former`, the same pool before a reload, including the requests that wait for
    /// its servers.
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

    /// Starts a second try beside the first one. Returns `None` if the budget does not permit it or too many
    /// retries are in progress. The caller drops the result when the try is over.
    pub(crate) fn take_hedge(&self, now: Instant) -> Option<Retrying> {
        self.take_retry(now, |budget, now_ms, requests_total| budget.take(now_ms, requests_total))
    }

    /// Starts a retry of a request whose server was lost, as [`Self::take_hedge`] does. Each request in
    /// flight may be retried as often as the retry rule says.
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

    /// Returns how long a server may be silent before the request is also sent to a second one. `None` = no
    /// second try, or the delay is not known yet.
    pub(crate) fn hedge_delay(&self) -> Option<Duration> {
        match self.plan.hedge.as_ref()?.delay {
            Some(delay) => Some(delay.duration()),
            None => match self.first_byte_p95_us.load(Ordering::Relaxed) {
                0 => None,
                us => Some(Duration::from_micros(us)),
            },
        }
    }

    /// Returns the current servers.
    pub fn view(&self) -> Arc<PoolView> {
        self.view.load_full()
    }

    /// Returns a number that changes with every [`PoolState::publish`].
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::SeqCst)
    }

    /// Makes `view` the one that every worker uses from its next pick. Only the control plane calls this.
    pub fn publish(self: &Arc<Self>, view: PoolView) {
        let view = Arc::new(view);
        if let Some(sticky) = &self.sticky {
            sticky.follow(&view.servers);
        }
        let before = self.view.swap(Arc::clone(&view));
        // A request that enters a queue from now on sees the new generation; a request that entered earlier
        // is found in the queue below.
        self.generation.fetch_add(1, Ordering::SeqCst);
        // The keys of the new roster miss the requests that began or ended while it was built.
        view.roster.refresh_all();
        if self.sticky.is_some() || !self.plan.hash.options.fallback {
            self.revise_all_bound(&before, &view);
        }
        if before.roster.members() != view.roster.members() {
            self.queue.forget_pace();
        }
        self.revise_queue();
    }

    /// Calls the requests that wait for one server if they may go there now or must choose another one.
    /// O(number of servers).
    fn revise_all_bound(self: &Arc<Self>, before: &PoolView, view: &PoolView) {
        // With changed hash shares, another server may be the only one for a key.
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

    /// Calls as many waiting requests as there is room for. O(number of servers) if any request waits.
    pub fn revise_queue(&self) {
        if self.queue.length() > 0 {
            let rooms = self.room.left();
            // If no server is left, all waiting requests are called, so that they fail at once.
            let places = self.view.load().roster.room().map_or(u64::MAX, |places| places.min(rooms));
            self.queue.changed(places, rooms);
        }
    }
}
