use weir_control::{ServerSnapshot, Traffic};

use super::pool::limit_of;
use super::{Moment, millis};
use crate::control::records::{ServerRecord, ServerSums};

pub(super) fn of(record: &ServerRecord, moment: Moment) -> ServerSnapshot {
    let spec = &record.spec.spec;
    let (state, health) = (&record.state, &record.health);
    let weight = spec.weight.get();
    let limit = limit_of(record);
    let active = u64::from(state.load.active());
    let mut sums = ServerSums::default();
    sums.add(&state.counters);
    ServerSnapshot {
        name: spec.name.to_string(),
        address: spec.address.to_string(),
        weight,
        effective_weight: if record.is_eligible() { weight } else { 0 },
        backup: spec.backup,
        origin: record.spec.origin,
        overridden: record.spec.overridden.iter().map(|what| (*what).to_owned()).collect(),
        admin: record.spec.state,
        health: health.health(moment.since_start),
        check: health.last_check(moment.now),
        check_failures: health.check_failures,
        times_down: health.clock().times_down(),
        ejections: health.ejections,
        changed_ms_ago: millis(health.unchanged_for(moment.now)),
        downtime_ms: millis(health.clock().downtime(moment.now)),
        traffic: Traffic {
            active: record.active.level(active, limit.map(u64::from)),
            request_rate: record.requests.rate(),
            idle_ms: state.idle_for().map(millis),
            ..sums.traffic()
        },
        connections_idle: state.counters.sum(|shard| shard.idle.get()),
        connections_used: active,
    }
}
