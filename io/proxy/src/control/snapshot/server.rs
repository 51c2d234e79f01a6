//! Snapshots of servers.

use weir_balance::{Portion, Roster};
use weir_control::{AgentSnapshot, Health, ServerSnapshot, Traffic};

use super::pool::limit_of;
use super::{Moment, millis};
use crate::control::records::{ServerRecord, ServerSums, address_of};

pub(super) fn of(record: &ServerRecord, roster: &Roster, moment: Moment) -> ServerSnapshot {
    let spec = &record.spec.spec;
    let (state, health) = (&record.state, &record.health);
    let weight = record.weight().get();
    let takes_part = roster.members().binary_search(&state.slot).is_ok();
    let portion = roster.candidate(state.slot).map_or(Portion::WHOLE, |candidate| candidate.portion);
    let limit = limit_of(record);
    let active = u64::from(state.load.active());
    let mut sums = ServerSums::default();
    sums.add(&state.counters);
    ServerSnapshot {
        name: spec.name.to_string(),
        address: address_of(&record.spec).to_string(),
        weight,
        effective_weight: if takes_part { portion.weight(weight) } else { 0 },
        weight_reason: spec.auto_weight.map(|_| {
            let judgement = record.found_weight.judgement();
            judgement.map_or_else(|| "not measured yet".to_owned(), ToString::to_string)
        }),
        weight_percent: Some(portion.as_percent()).filter(|_| takes_part && portion != Portion::WHOLE),
        stands_by: record.is_eligible() && !takes_part && !spec.backup,
        priority: spec.priority,
        zone: spec.zone.as_ref().map(ToString::to_string),
        backup: spec.backup,
        origin: record.spec.origin,
        fleet: spec.fleet.as_ref().map(ToString::to_string),
        overridden: record.spec.overridden.iter().map(|what| (*what).to_owned()).collect(),
        admin: record.admin(),
        health: match health.health(moment.since_start) {
            Health::Up | Health::NoCheck if health.is_half_open() => Health::HalfOpen {
                successes: state.probes_passed().min(state.probes_wanted()),
                of: state.probes_wanted(),
            },
            health => health,
        },
        check: health.last_check(moment.now),
        agent: health
            .last_agent(moment.now)
            .map(|agent| AgentSnapshot { keeps_out: record.is_kept_out(), ..agent }),
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
