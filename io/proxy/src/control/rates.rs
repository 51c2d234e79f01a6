//! Reads all counters periodically, for rates, levels, ejection and weights.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval};

use super::Controller;
use super::ejection::{Judgement, sample};
use super::process_facts;
use super::records::Records;
use crate::turns::Part;

const TICK: Duration = Duration::from_secs(1);

/// Maximum number of servers read per second. With more servers, a full round takes several seconds.
const READ_AT_A_TICK: usize = 2_500;

/// Number of servers whose counters are read before any is evaluated. With thousands of servers the counters
/// are in no cache; back-to-back reads let the processor wait for several cache misses at once.
const LOOKED_AT_TOGETHER: usize = 32;

/// Reads all totals once a second, for rates and peak levels. Also judges traffic, releases removed pools and
/// listeners, and measures weights.
pub(super) async fn keep_reading(controller: Arc<Controller>) {
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks.tick().await;
    loop {
        ticks.tick().await;
        let now = Instant::now();
        controller.read_totals(now);
        controller.judge_weights(now);
    }
}

impl Controller {
    /// Reads the totals, of servers only the part that is due, and judges their traffic.
    pub(super) fn read_totals(&self, now: Instant) {
        let mut judgement = self.judgement();
        let mut records = self.records();
        read_pools(&mut records, now, &mut judgement);
        let gone = records.retire();
        let Records { listeners, process, .. } = &mut *records;
        for listener in listeners.iter_mut() {
            let (connections, requests) = (listener.connections_total(), listener.requests_total());
            listener.connections.read(connections, now);
            listener.requests.read(requests, now);
        }
        listeners.fold();
        process.connections.read(listeners.connections_total(), now);
        process.requests.read(listeners.requests_total(), now);
        if let Some(open) = process_facts::descriptors_open() {
            process.descriptors_max = process.descriptors_max.max(open);
        }
        drop(records);
        self.carry_out(judgement);
        for pool in gone {
            self.log.line(format!("pool {pool}: no longer in the config, and nobody uses it any more"));
        }
    }
}

impl Controller {
    /// Recalculates measured weights in pools where this is due.
    fn judge_weights(&self, now: Instant) {
        for pool in self.records().pools_in_use_mut() {
            if pool.judge_weights(now) {
                pool.publish(now);
            }
        }
    }
}

fn read_pools(records: &mut Records, now: Instant, judgement: &mut Judgement) {
    let servers: usize = records.pools_in_use_mut().map(|pool| pool.members.slots().len()).sum();
    let part = records.reading.next(servers, READ_AT_A_TICK, 1);
    let mut before = 0;
    for pool in records.pools_in_use_mut() {
        let count = pool.members.slots().len();
        let part = if pool.is_troubled(now) { &Part::ALL } else { &part };
        let slots = part.of(before, count);
        before += count;
        for first in slots.clone().step_by(LOOKED_AT_TOGETHER) {
            let together = first..slots.end.min(first + LOOKED_AT_TOGETHER);
            let mut looks = [None; LOOKED_AT_TOGETHER];
            for (look, slot) in looks.iter_mut().zip(together.clone()) {
                let state = pool.members.at(slot).map(|server| &server.state);
                *look = state.map(|state| (sample(state), state.load.active()));
            }
            for (look, slot) in looks.into_iter().zip(together) {
                let (Some((sample, server_active)), Some(server)) = (look, pool.members.at_mut(slot)) else {
                    continue;
                };
                server.requests.read(sample.requests_total, now);
                server.active.read(server_active.into());
                // Judges the server while its data is in the cache.
                judgement.judge(pool, slot, sample);
            }
        }
        judgement.judge_breaker(pool);
        pool.requests.read(pool.requests_total(), now);
        pool.active.read(pool.shared.counters.sum(|shard| shard.active.get()));
        pool.measure_first_bytes();
        // Must come before `departed.fold()`: outdated views hold references to servers.
        pool.outdated.let_go();
        pool.departed.fold();
    }
}
