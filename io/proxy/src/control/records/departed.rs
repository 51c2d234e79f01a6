//! Counters of servers that have left a pool.

use std::sync::Arc;

use weir_control::{Latency, Responses, Traffic};
use weir_stats::{Histogram, HistogramPair, Side};

use crate::state::{LazyHistogram, ServerCounters, ServerState, Shards};

/// Sums of server counters.
#[derive(Debug, Clone, Default)]
pub(in crate::control) struct ServerSums {
    requests: u64,
    connections: u64,
    reuses: u64,
    connect_errors: u64,
    response_errors: u64,
    retries: u64,
    connect_retries: u64,
    redispatches: u64,
    client_aborts: u64,
    server_aborts: u64,
    bytes_out: u64,
    bytes_in: u64,
    responses: [u64; 6],
    connect: LatencySum,
    first_byte: LatencySum,
    total: LatencySum,
}

/// Sum of histograms; needs no memory while it is empty.
#[derive(Debug, Clone, Default)]
pub(in crate::control) struct LatencySum(Option<Box<Histogram>>);

/// Servers that have left a pool. Their counters still count for the pool, so that its totals never decrease.
#[derive(Debug, Default)]
pub(in crate::control) struct Departed {
    folded: ServerSums,
    /// Servers that may still count: requests are in flight, or a worker still uses an old view.
    leaving: Vec<Arc<ServerState>>,
}

impl ServerSums {
    /// Adds the counters of one server.
    pub(in crate::control) fn add(&mut self, counters: &Shards<ServerCounters>) {
        for shard in counters.iter() {
            self.requests += shard.requests.get();
            self.connections += shard.connections.get();
            self.reuses += shard.reuses.get();
            self.connect_errors += shard.connect_errors.get();
            self.response_errors += shard.response_errors.get();
            self.retries += shard.retries.get();
            self.connect_retries += shard.connect_retries.get();
            self.redispatches += shard.redispatches.get();
            self.client_aborts += shard.client_aborts.get();
            self.server_aborts += shard.server_aborts.get();
            self.bytes_out += shard.bytes_out.get();
            self.bytes_in += shard.bytes_in.get();
            for (sum, count) in self.responses.iter_mut().zip(shard.responses.get()) {
                *sum += count;
            }
            self.connect.add(&shard.connect);
            self.first_byte.add_side(&shard.times, ServerCounters::FIRST_BYTE);
            self.total.add_side(&shard.times, ServerCounters::TOTAL);
        }
    }

    /// Returns the sums as traffic for snapshots, without levels and rates.
    pub(in crate::control) fn traffic(&self) -> Traffic {
        Traffic {
            requests_total: self.requests,
            tries_total: self.requests,
            request_bytes: self.bytes_out,
            response_bytes: self.bytes_in,
            connections_total: self.connections,
            reuses: self.reuses,
            connect_errors: self.connect_errors,
            response_errors: self.response_errors,
            client_aborts: self.client_aborts,
            server_aborts: self.server_aborts,
            retries: self.retries,
            connect_retries: self.connect_retries,
            redispatches: self.redispatches,
            responses: Responses::from(self.responses),
            connect: self.connect.latency(),
            first_byte: self.first_byte.latency(),
            total: self.total.latency(),
            ..Traffic::default()
        }
    }
}

impl LatencySum {
    /// Adds the histogram of one thread.
    pub(in crate::control) fn add(&mut self, histogram: &LazyHistogram) {
        if let Some(histogram) = histogram.get() {
            histogram.add_to(self.0.get_or_insert_default());
        }
    }

    /// Adds one side of a histogram pair.
    fn add_side(&mut self, pair: &HistogramPair, side: Side) {
        if !pair.is_empty(side) {
            pair.add_to(side, self.0.get_or_insert_default());
        }
    }

    pub(in crate::control) fn latency(&self) -> Latency {
        self.0.as_ref().map_or_else(Latency::default, |histogram| Latency::from(Histogram::clone(histogram)))
    }
}

impl Departed {
    /// Adds a server that has left.
    pub(super) fn add(&mut self, server: Arc<ServerState>) {
        self.leaving.push(server);
    }

    /// Sums up and releases servers that have no other user. Must be called regularly.
    pub(in crate::control) fn fold(&mut self) {
        let folded = &mut self.folded;
        self.leaving.retain_mut(|server| match Arc::get_mut(server) {
            // This is the only reference, so no worker can count here afterwards.
            Some(server) => {
                folded.add(&server.counters);
                false
            }
            None => true,
        });
    }

    /// Returns the sums of all servers that have left, including later counts.
    pub(in crate::control) fn sums(&self) -> ServerSums {
        let mut sums = self.folded.clone();
        for server in &self.leaving {
            sums.add(&server.counters);
        }
        sums
    }

    /// Returns the number of requests in flight at servers that have left.
    pub(in crate::control) fn active(&self) -> u64 {
        self.leaving.iter().map(|server| u64::from(server.load.active())).sum()
    }
}
