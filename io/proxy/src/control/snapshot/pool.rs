use std::collections::HashSet;

use weir_config::plan::{ListenerPlan, Mode};
use weir_control::{PoolSnapshot, Protocol, StickySnapshot, StickyTableSnapshot, Traffic};

use super::{Moment, millis, server};
use crate::control::records::{LatencySum, PoolRecord, Records};
use crate::state::{Counter, PoolCounters};

/// In plan order.
pub(super) fn all(records: &Records, moment: Moment) -> Vec<PoolSnapshot> {
    let tcp: HashSet<usize> = records.plan.listeners.iter().flat_map(tcp_pools).collect();
    let each = records.pools.iter().enumerate().map(|(index, pool)| {
        let protocol = if tcp.contains(&index) { Protocol::Tcp } else { Protocol::Http };
        of(pool, protocol, moment)
    });
    each.collect()
}

fn of(pool: &PoolRecord, protocol: Protocol, moment: Moment) -> PoolSnapshot {
    let shared = &pool.shared;
    let sum = |counter: fn(&PoolCounters) -> &Counter| shared.counters.sum(|shard| counter(shard).get());
    let mut queue_time = LatencySum::default();
    shared.counters.iter().for_each(|shard| queue_time.add(&shard.queue_time));
    let view = shared.view();
    let waiting = u64::from(shared.queue.length());
    PoolSnapshot {
        name: pool.name.to_string(),
        algorithm: shared.plan.algorithm.to_string(),
        protocol,
        traffic: Traffic {
            requests_total: pool.requests_total(),
            redispatches: sum(|shard| &shard.redispatches),
            ..traffic(pool)
        },
        queue: pool.queue.level(waiting, None),
        queued_total: sum(|shard| &shard.queued),
        queue_time: queue_time.latency(),
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

/// Of all its servers, those that have left included.
fn traffic(pool: &PoolRecord) -> Traffic {
    let mut sums = pool.departed.sums();
    let mut active = pool.departed.active();
    let mut limit = Some(0);
    let mut idle = None;
    for record in pool.members.iter() {
        sums.add(&record.state.counters);
        active += u64::from(record.state.load.active());
        limit = limit.zip(record.connections_max()).map(|(sum, max)| sum + u64::from(max));
        idle = idle.into_iter().chain(record.state.idle_for()).min();
    }
    Traffic {
        active: pool.active.level(active, limit.filter(|_| pool.members.len() > 0)),
        request_rate: pool.requests.rate(),
        idle_ms: idle.map(millis),
        ..sums.traffic()
    }
}

fn tcp_pools(listener: &ListenerPlan) -> Vec<usize> {
    match &listener.mode {
        Mode::Http(_) => Vec::new(),
        Mode::Tcp(tcp) => tcp.sni_routes.iter().map(|route| route.pool).chain(tcp.pool).collect(),
    }
}
