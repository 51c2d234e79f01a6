//! The record of one pool.

use std::sync::{Arc, Weak};

use tokio::time::Instant;
use weir_balance::{RequestMix, Roster};
use weir_config::plan::PoolPlan;
use weir_health::{BreakerRule, BreakerState, EjectionRule};
use weir_model::{PoolName, ServerName};
use weir_stats::RecentPercentile;

use super::departed::Departed;
use super::members::Members;
use super::outdated::Outdated;
use super::weights::judge_weights;
use super::{LevelMeter, RateMeter, Rotation, ServerRecord, UpClock};
use crate::control::parts::PoolTls;
use crate::redirect::Redirect;
use crate::state::{PoolCounters, PoolState, PoolView, ServerState, Shards};
use crate::sticky::{Secret, StickyState};

/// One pool in the control plane.
#[derive(Debug)]
pub(in crate::control) struct PoolRecord {
    pub(in crate::control) name: PoolName,
    /// State that workers see.
    pub(in crate::control) shared: Arc<PoolState>,
    /// States from before reloads, which earlier requests may still use.
    pub(super) former: Vec<Weak<PoolState>>,
    pub(in crate::control) tls: PoolTls,
    pub(in crate::control) members: Members,
    pub(in crate::control) departed: Departed,
    pub(in crate::control) outdated: Outdated,
    /// Up = at least one server takes requests.
    pub(in crate::control) clock: UpClock,
    pub(in crate::control) requests: RateMeter,
    pub(in crate::control) active: LevelMeter,
    pub(super) rotation: Rotation,
    /// State of the breaker at the last log line: number of times opened, and true if closed.
    breaker_told: (u64, bool),
    /// Number of server failures at the last reading, and the time at which it last changed.
    failures_seen: (u64, Option<Instant>),
    /// Distribution of first-byte times, for hedged requests.
    pub(in crate::control) first_bytes: RecentPercentile,
    is_stale: bool,
    /// Time of the next rise of weights; `None` = all weights have risen.
    rises_at: Option<Instant>,
    /// Time of the next weight measurement; `None` = no weight is measured, or the time is not set yet.
    judges_at: Option<Instant>,
    /// Mix of request classes, for weight measurement.
    mix: RequestMix,
}

impl PoolRecord {
    /// Creates a pool without servers.
    pub(in crate::control) fn new(
        plan: &PoolPlan,
        tls: PoolTls,
        (secret, redirect): (Option<Secret>, Option<Redirect>),
        threads: usize,
        now: Instant,
    ) -> Self {
        let counters: Arc<Shards<PoolCounters>> = Arc::new(Shards::new(threads));
        let roster = Arc::new(Roster::new(plan.scheduling(), Vec::new(), None));
        let view = PoolView { roster, servers: Arc::default() };
        let sticky = StickyState::new(plan, secret).map(Arc::new);
        Self {
            name: plan.name.clone(),
            shared: Arc::new(
                PoolState::new(without_servers(plan), counters, sticky, view).redirecting(redirect),
            ),
            former: Vec::new(),
            tls,
            members: Members::default(),
            departed: Departed::default(),
            outdated: Outdated::default(),
            // Corrected once the servers exist, without counting it as a change.
            clock: UpClock::new(true, now),
            requests: RateMeter::starting(now),
            active: LevelMeter::default(),
            rotation: Rotation::default(),
            breaker_told: (0, true),
            failures_seen: (0, None),
            first_bytes: RecentPercentile::for_hedges(),
            is_stale: true,
            rises_at: None,
            judges_at: None,
            mix: RequestMix::default(),
        }
    }

    /// Returns the requests to this pool since the start; a retried request counts once.
    pub(in crate::control) fn requests_total(&self) -> u64 {
        self.shared.counters.sum(|shard| shard.requests.get())
    }

    /// Returns the counts of servers that take requests.
    pub(in crate::control) fn rotation(&self) -> &Rotation {
        &self.rotation
    }

    /// Returns the servers that stand for the addresses of this server's host name.
    pub(in crate::control) fn addresses_of(
        &self,
        server: &ServerName,
    ) -> impl Iterator<Item = &ServerRecord> {
        self.members
            .iter()
            .filter(move |record| record.spec.at.as_ref().is_some_and(|at| at.server == *server))
    }

    /// Returns true if this is the name of a server with several addresses, or of one of those addresses.
    pub(in crate::control) fn is_split(&self, server: &ServerName) -> bool {
        match self.members.get(server) {
            Some(record) => record.spec.at.is_some(),
            None => self.addresses_of(server).next().is_some(),
        }
    }

    /// Returns true if all servers need judging each second: a server is ejected and must return in time, or
    /// a server has failed within the ejection window. Must be called each second.
    pub(in crate::control) fn is_troubled(&mut self, now: Instant) -> bool {
        let failures = self.shared.counters.sum(|shard| shard.server_failures.get());
        let (seen, failed_at) = &mut self.failures_seen;
        if *seen != failures {
            (*seen, *failed_at) = (failures, Some(now));
        }
        let rule = self.shared.plan.ejection.as_ref();
        let is_recent = |rule: &EjectionRule| failed_at.is_some_and(|at| now < at + rule.window.duration());
        self.rotation.has_ejected() || rule.is_some_and(is_recent)
    }

    /// Updates the counts after a change of the server in `slot`.
    pub(in crate::control) fn settle(&mut self, slot: usize) {
        let Some(record) = self.members.at_mut(slot) else { return };
        let count = record.count();
        if record.counted != Some(count) {
            self.rotation.recount(record.counted, Some(count));
            record.counted = Some(count);
            self.is_stale = true;
        }
    }

    /// Returns the log line about the breaker, if its state has changed.
    pub(in crate::control) fn breaker_event(&mut self, rule: &BreakerRule) -> Option<String> {
        let breaker = &self.shared.breaker;
        let is_closed = breaker.state(std::time::Instant::now()) == BreakerState::Closed;
        let now = (breaker.opened(), is_closed);
        let before = std::mem::replace(&mut self.breaker_told, now);
        let pool = &self.name;
        match (before, now) {
            (before, now) if before == now => None,
            (_, (_, true)) => Some(format!("pool {pool}: breaker closed")),
            ((opened, _), (again, _)) if again != opened => Some(format!(
                "pool {pool}: breaker open for {}: {} % or more of its requests failed within {}, or a probe did",
                rule.open, rule.error_percent, rule.window
            )),
            _ => None,
        }
    }

    /// Marks the view of workers as stale.
    pub(in crate::control) fn spoil(&mut self) {
        self.is_stale = true;
    }

    /// Returns true if the view of workers is stale.
    pub(in crate::control) fn is_stale(&self) -> bool {
        self.is_stale
    }

    /// Publishes a new view to workers. O(number of servers).
    pub(in crate::control) fn publish(&mut self, now: Instant) {
        let shared = Arc::clone(&self.shared);
        let view = self.view(&shared.plan, now);
        self.tell_former(&view);
        self.outdated.add(shared.view());
        shared.publish(view);
        self.published(now);
    }

    /// Switches to another plan and keeps the servers. Requests that began under the old plan finish under
    /// it, but see its servers come and go.
    pub(in crate::control) fn replace(
        &mut self,
        plan: &PoolPlan,
        (secret, redirect): (Option<Secret>, Option<Redirect>),
        now: Instant,
    ) {
        let view = self.view(plan, now);
        self.outdated.add(self.shared.view());
        self.former.push(Arc::downgrade(&self.shared));
        self.tell_former(&view);
        let sticky = match self.has_sticky(plan, secret.as_ref()) {
            true => self.shared.sticky.clone(),
            false => StickyState::new(plan, secret).map(Arc::new),
        };
        let state = PoolState::new(without_servers(plan), Arc::clone(&self.shared.counters), sticky, view);
        self.shared = Arc::new(state.succeeding(&self.shared).redirecting(redirect));
        // The new plan may permit more requests, so waiting requests are called again.
        self.shared.revise_queue();
        self.published(now);
    }

    /// Returns true if the plan has the same stickiness, so that clients keep their servers.
    pub(in crate::control) fn has_sticky(&self, plan: &PoolPlan, secret: Option<&Secret>) -> bool {
        match (&self.shared.sticky, &plan.sticky) {
            (None, None) => true,
            (Some(state), Some(plan)) => state.is_made_of(plan, secret),
            _ => false,
        }
    }

    /// Returns the time of the next rise of weights; `None` = all weights have risen.
    pub(in crate::control) fn rises_at(&self) -> Option<Instant> {
        self.rises_at
    }

    /// Measures the weights again if it is time. Returns true if a weight has changed.
    pub(in crate::control) fn judge_weights(&mut self, now: Instant) -> bool {
        let plan = &self.shared.plan.auto_weight;
        let judges_at = self.judges_at.filter(|_| plan.is_on);
        self.judges_at = plan.is_on.then(|| judges_at.unwrap_or(now + plan.interval.duration()));
        if judges_at.is_none_or(|at| now < at) {
            return false;
        }
        self.judges_at = Some(now + plan.interval.duration());
        judge_weights(&plan.rule, &mut self.mix, &mut self.members)
    }

    /// Publishes the first view after the creation of the pool. The earlier state of the clock does not
    /// count.
    pub(in crate::control) fn publish_first(&mut self, now: Instant) {
        self.clock = UpClock::new(self.rotation.is_usable(), now);
        self.members.iter_mut().for_each(|record| record.rise.at_start());
        self.publish(now);
    }

    fn tell_former(&mut self, view: &PoolView) {
        self.former.retain(|former| {
            let Some(former) = former.upgrade() else { return false };
            former.publish(PoolView { roster: Arc::clone(&view.roster), servers: Arc::clone(&view.servers) });
            true
        });
    }

    fn view(&mut self, plan: &PoolPlan, now: Instant) -> PoolView {
        // `count` visits every server; `any` would stop at the first that rises.
        let rising =
            self.members.iter_mut().filter_map(|record| record.look_at_rise(plan, now).then_some(()));
        let is_rising = rising.count() > 0;
        let records = self.members.slots();
        let candidates =
            self.members.iter().enumerate().map(|(rank, record)| record.candidate(rank, plan)).collect();
        let previous = self.shared.view();
        // Uses the system clock: the clock of a paused runtime stands still while a roster is built.
        let began = std::time::Instant::now();
        let roster = Arc::new(Roster::new(plan.scheduling(), candidates, Some(&previous.roster)));
        self.rises_at = plan.slow_start.filter(|_| is_rising).map(|rule| now + rule.pause(began.elapsed()));
        for record in self.members.iter() {
            let state = &record.state;
            roster.limit(state.slot, &state.load, state.limit_to_start_with(plan.concurrency.as_ref()));
        }
        let same =
            |(record, server): (&Option<ServerRecord>, &Option<Arc<ServerState>>)| match (record, server) {
                (Some(record), Some(server)) => Arc::ptr_eq(&record.state, server),
                (record, server) => record.is_none() && server.is_none(),
            };
        // Most changes concern weights and states only. Workers then need not compare the servers.
        let is_same =
            records.len() == previous.servers.len() && records.iter().zip(&*previous.servers).all(same);
        let servers = || records.iter().map(|record| Some(Arc::clone(&record.as_ref()?.state))).collect();
        PoolView { roster, servers: if is_same { Arc::clone(&previous.servers) } else { servers() } }
    }

    fn published(&mut self, now: Instant) {
        self.is_stale = false;
        self.clock.set(self.rotation.is_usable(), now);
    }
}

/// Copies the plan without its servers. The view holds the actual servers; the list of the file would be
/// misleading.
fn without_servers(plan: &PoolPlan) -> PoolPlan {
    PoolPlan {
        name: plan.name.clone(),
        algorithm: plan.algorithm,
        hash: plan.hash.clone(),
        sticky: plan.sticky.clone(),
        measure: plan.measure,
        servers: Vec::new(),
        connections_max: plan.connections_max,
        queue: plan.queue.clone(),
        concurrency: plan.concurrency,
        check: plan.check.clone(),
        agent: plan.agent.clone(),
        slow_start: plan.slow_start,
        auto_weight: plan.auto_weight.clone(),
        membership: plan.membership,
        zone: plan.zone.clone(),
        ejection: plan.ejection.clone(),
        breaker: plan.breaker.clone(),
        tls: plan.tls.clone(),
        proxy_protocol: plan.proxy_protocol,
        timeouts: plan.timeouts.clone(),
        retry: plan.retry.clone(),
        hedge: plan.hedge.clone(),
        reuse: plan.reuse.clone(),
        collected_body_bytes_max: plan.collected_body_bytes_max,
        nobody_left: plan.nobody_left.clone(),
        redirect: plan.redirect.clone(),
        lenient: plan.lenient,
        offload: plan.offload.clone(),
    }
}
