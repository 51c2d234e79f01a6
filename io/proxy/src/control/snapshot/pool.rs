//! Snapshots of pools.

use std::collections::HashSet;
use std::time::Duration;

use weir_config::plan::{ListenerPlan, Mode};
use weir_control::{
    BreakerSnapshot, BreakerStatus, Level, PoolSnapshot, Protocol, StickySnapshot, StickyTableSnapshot,
    Traffic,
};
use weir_health::BreakerState;
use weir_model::PoolName;

use super::{Moment, millis, server};
use crate::control::records::{LatencySum, PoolRecord, Records, ServerRecord};
use crate::state::{Counter, PoolBreaker, PoolCounters};

/// Returns all pools in plan order.
pub(super) fn all(records: &Records, moment: Moment) -> Vec<PoolSnapshot> {
    let tcp: HashSet<usize> = records.plan.listeners.iter().flat_map(tcp_pools).collect();
    let each = records.pools.iter().enumerate();
    each.map(|(index, pool)| of(pool, protocol(tcp.contains(&index)), moment)).collect()
}

/// Returns the pool of that name.
pub(super) fn one(records: &Records, name: &PoolName, moment: Moment) -> Option<PoolSnapshot> {
    let index = records.pools.iter().position(|pool| pool.name == *name)?;
    let is_tcp = records.plan.listeners.iter().any(|listener| tcp_pools(listener).contains(&index));
    Some(of(&records.pools[index], protocol(is_tcp), moment))
}

fn protocol(is_tcp: bool) -> Protocol {
    if is_tcp { Protocol::Tcp } else { Protocol::Http }
}

fn of(pool: &PoolRecord, protocol: Protocol, moment: Moment) -> PoolSnapshot {
    let shared = &pool.shared;
    let sum = |counter: fn(&PoolCounters) -> &Counter| shared.counters.sum(|shard| counter(shard).get());
    let mut queue_time = LatencySum::default();
    shared.counters.iter().for_each(|shard| queue_time.add(&shard.queue_time));
    let view = shared.view();
    let queue = &shared.queue;
    let (queue_full, queue_hopeless) = queue.refused();
    PoolSnapshot {
        name: pool.name.to_string(),
        algorithm: shared.plan.algorithm.to_string(),
        protocol,
        traffic: Traffic {
            requests_total: pool.requests_total(),
            redispatches: sum(|shard| &shard.redispatches),
            ..traffic(pool)
        },
        queue: Level {
            current: queue.length_in_all().into(),
            max: queue.most().into(),
            limit: shared.plan.queue.length_max.map(u64::from),
        },
        queued_total: sum(|shard| &shard.queued),
        queue_time: queue_time.latency(),
        queue_longest_ms: millis(longest_wait(pool)),
        queue_full,
        queue_hopeless,
        sent_on: sum(|shard| &shard.sent_on),
        hedges: sum(|shard| &shard.hedges),
        hedges_won: sum(|shard| &shard.hedges_won),
        offloads: sum(|shard| &shard.offloads),
        offloads_failed: sum(|shard| &shard.offloads_failed),
        breaker: shared.plan.breaker.as_ref().map(|_| breaker(&shared.breaker)),
        nobody_left: sum(|shard| &shard.nobody_left),
        busy: sum(|shard| &shard.busy),
        retries_denied: sum(|shard| &shard.retries_denied),
        sticky: sticky(pool),
        changed_ms_ago: millis(pool.clock.lasts(moment.now)),
        downtime_ms: millis(pool.clock.downtime(moment.now)),
        times_down: pool.clock.times_down(),
        servers: pool.members.iter().map(|record| server::of(record, &view.roster, moment)).collect(),
    }
}

fn breaker(breaker: &PoolBreaker) -> BreakerSnapshot {
    let (state, remaining) = match breaker.state(std::time::Instant::now()) {
        BreakerState::Closed => (BreakerStatus::Closed, Duration::ZERO),
        BreakerState::Open { remaining } => (BreakerStatus::Open, remaining),
        BreakerState::HalfOpen => (BreakerStatus::HalfOpen, Duration::ZERO),
    };
    let (opened, refused) = (breaker.opened(), breaker.refused());
    BreakerSnapshot { state, remaining_ms: millis(remaining), opened, refused }
}

/// Returns the longest current waiting time of a request, in the pool's queue or in a server's queue.
fn longest_wait(pool: &PoolRecord) -> Duration {
    let for_one = pool.members.iter().map(|record| record.state.bound.longest_wait()).max();
    pool.shared.queue.longest_wait().max(for_one.unwrap_or_default())
}

fn sticky(pool: &PoolRecord) -> Option<StickySnapshot> {
    let state = pool.shared.sticky.as_ref()?;
    let sum = |counter: fn(&PoolCounters) -> &Counter| pool.shared.counters.sum(|shard| counter(shard).get());
    let table = state.table_counts().map(|counts| StickyTableSnapshot {
        entries: counts.entries,
        entries_max: counts.entries_max,
        expired: counts.expired,
        evicted: counts.evicted,
    });
    Some(StickySnapshot {
        method: state.method().to_owned(),
        hits: sum(|shard| &shard.sticky_hits),
        misses: sum(|shard| &shard.sticky_misses),
        redispatches: sum(|shard| &shard.sticky_redispatches),
        table,
    })
}

/// Sums the traffic of all servers, including those that have left.
fn traffic(pool: &PoolRecord) -> Traffic {
    let mut sums = pool.departed.sums();
    let mut active = pool.departed.active();
    let mut limit = Some(0);
    let mut idle = None;
    for record in pool.members.iter() {
        sums.add(&record.state.counters);
        active += u64::from(record.state.load.active());
        limit = limit.zip(limit_of(record)).map(|(sum, max)| sum + u64::from(max));
        idle = idle.into_iter().chain(record.state.idle_for()).min();
    }
    let limit = limit.filter(|_| pool.members.len() > 0);
    let own = pool.shared.plan.connections_max.map(u64::from);
    Traffic {
        active: pool.active.level(active, limit.into_iter().chain(own).min()),
        request_rate: pool.requests.rate(),
        idle_ms: idle.map(millis),
        ..sums.traffic()
    }
}

/// Returns the server's limit, configured or measured.
pub(super) fn limit_of(record: &ServerRecord) -> Option<u32> {
    let measured = Some(record.state.load.limit()).filter(|limit| *limit != u32::MAX);
    record.limit().into_iter().chain(measured).min()
}

fn tcp_pools(listener: &ListenerPlan) -> Vec<usize> {
    match &listener.mode {
        Mode::Http(_) => Vec::new(),
        Mode::Tcp(tcp) => tcp.sni_routes.iter().map(|route| route.pool).chain(tcp.pool).collect(),
    }
}
