use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval};

use super::Controller;
use super::ejection::Judgement;
use super::process_facts;
use super::records::Records;

const TICK: Duration = Duration::from_secs(1);

/// Reads every total once a second, for rates and for the highest of each level; judges traffic, lets go of what is over, and finds
/// weights.
pub(super) async fn keep_reading(controller: Arc<Controller>) {
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut last = ticks.tick().await;
    loop {
        ticks.tick().await;
        let now = Instant::now();
        controller.read_totals(now.saturating_duration_since(last));
        controller.judge_weights(now);
        last = now;
    }
}

impl Controller {
    /// Reads every total, `elapsed` after the last reading, and judges what the servers' traffic says of them.
    pub(super) fn read_totals(&self, elapsed: Duration) {
        let mut judgement = self.judgement();
        let mut records = self.records();
        read_pools(&mut records, elapsed, &mut judgement);
        let gone = records.retire();
        let Records { listeners, process, .. } = &mut *records;
        for listener in listeners.iter_mut() {
            let (connections, requests) = (listener.connections_total(), listener.requests_total());
            listener.connections.read(connections, elapsed);
            listener.requests.read(requests, elapsed);
        }
        listeners.fold();
        process.connections.read(listeners.connections_total(), elapsed);
        process.requests.read(listeners.requests_total(), elapsed);
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
    /// Finds the weights anew that are found by measurement, in pools where it is time.
    fn judge_weights(&self, now: Instant) {
        for pool in self.records().pools_in_use_mut() {
            if pool.judge_weights(now) {
                pool.publish(now);
            }
        }
    }
}

fn read_pools(records: &mut Records, elapsed: Duration, judgement: &mut Judgement) {
    for pool in records.pools_in_use_mut() {
        let mut active = pool.departed.active();
        for slot in 0..pool.members.slots().len() {
            let Some(server) = pool.members.at_mut(slot) else { continue };
            let server_requests = server.state.counters.sum(|shard| shard.requests.get());
            let server_active = u64::from(server.state.load.active());
            server.requests.read(server_requests, elapsed);
            server.active.read(server_active);
            active += server_active;
            // While it is at hand: thousands of servers are in no cache, and another round would bring them all in again.
            judgement.judge(pool, slot);
        }
        judgement.judge_breaker(pool);
        pool.requests.read(pool.requests_total(), elapsed);
        pool.active.read(active);
        pool.measure_first_bytes();
        // Before those who count as long as anybody has them.
        pool.outdated.let_go();
        pool.departed.fold();
    }
}
