//! Counters of listeners, pools and servers, one copy for each thread.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use weir_stats::{HistogramPair, SharedHistogram, Side};

use super::{Counter, RefusalCounts, StatusClasses};

/// One copy of `T` for each counting thread, on its own cache lines; readers add the copies. A clone shares
/// the same copies.
#[derive(Debug)]
pub struct Shards<T>(Arc<[Padded<T>]>);

impl<T> Clone for Shards<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

/// Keeps neighbours on different cache lines (128 bytes, because the prefetcher fetches lines in pairs).
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Padded<T>(T);

impl<T> Deref for Padded<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Default> Shards<T> {
    /// Creates `count` copies, at least one.
    pub fn new(count: usize) -> Self {
        Self((0..count.max(1)).map(|_| Padded::default()).collect())
    }
}

impl<T> Shards<T> {
    /// Returns the copy of thread `index`.
    #[inline]
    pub fn of(&self, index: usize) -> &T {
        // Each request calls this a dozen times, and a division would take longer than the counting.
        match self.0.get(index) {
            Some(padded) => &padded.0,
            None => self.of_fewer(index),
        }
    }

    /// Shares the copies if there are fewer than threads, which happens only in tests.
    #[cold]
    fn of_fewer(&self, index: usize) -> &T {
        &self.0[index % self.0.len()].0
    }

    /// Iterates over all copies.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter().map(|padded| &padded.0)
    }

    /// Returns the sum of one counter over all copies.
    pub fn sum(&self, counter: impl Fn(&T) -> u64) -> u64 {
        self.iter().map(counter).fold(0, u64::wrapping_add)
    }
}

/// A histogram that allocates at its first use: of 10,000 servers, most may be idle.
#[derive(Debug, Default)]
pub struct LazyHistogram(OnceLock<Box<SharedHistogram>>);

impl LazyHistogram {
    /// Records a value, in microseconds.
    pub fn record(&self, micros: u64) {
        self.0.get_or_init(Box::default).record(micros);
    }

    /// Reads the memory that [`LazyHistogram::record`] would change, to load it into the CPU cache.
    pub fn peek(&self, micros: u64) -> u64 {
        self.get().map_or(0, |histogram| histogram.peek(micros))
    }

    /// Returns the histogram, if any value was recorded.
    pub fn get(&self) -> Option<&SharedHistogram> {
        self.0.get().map(Box::as_ref)
    }
}

/// Counters of one thread for a listener. The fields that every request changes come first. Kernel code
/// evicts most of the L1 cache between requests, so each cache line counts.
#[derive(Debug, Default)]
#[repr(C)]
pub struct ListenerCounters {
    /// Requests read (TCP: connections).
    pub requests: Counter,
    /// Bytes received from clients.
    pub bytes_in: Counter,
    /// Bytes sent to clients.
    pub bytes_out: Counter,
    /// Responses sent.
    pub responses: StatusClasses,
    /// Time from the last byte of the request head to the last byte of the response.
    pub duration: LazyHistogram,
    /// Connections accepted.
    pub connections: Counter,
    /// Connections open now.
    pub connections_open: Counter,
    /// Connections refused because of a limit.
    pub connections_denied: Counter,
    /// Requests that could not be parsed, or did not arrive in time.
    pub request_errors: Counter,
    /// Requests that a rule refused.
    pub requests_denied: Counter,
    /// Requests that a route denied because its expression failed.
    pub expressions_denied: Counter,
    /// Requests that a route did not take because its expression failed.
    pub expressions_passed_over: Counter,
    /// Requests refused because they were malformed, by rule.
    pub refused: RefusalCounts,
    /// Requests answered without contacting a server.
    pub intercepted: Counter,
    /// Responses that Weir generated, by class, including those sent in place of a server's response.
    pub answered: StatusClasses,
    /// Requests whose client disconnected before the end.
    pub client_aborts: Counter,
    /// TLS handshakes completed.
    pub tls_handshakes: Counter,
    /// TLS handshakes that resumed a session.
    pub tls_resumed: Counter,
    /// TLS handshakes that failed.
    pub tls_failures: Counter,
}

/// Counters of one thread for a pool as a whole.
#[derive(Debug, Default)]
pub struct PoolCounters {
    /// Requests to the pool; a retried request counts once.
    pub requests: Counter,
    /// Tries in progress at its servers.
    pub active: Counter,
    /// Requests for which no server was left.
    pub nobody_left: Counter,
    /// Requests for which every server was at its limit.
    pub busy: Counter,
    /// Retries.
    pub retries: Counter,
    /// Retries that went to another server.
    pub redispatches: Counter,
    /// Requests that waited for a server.
    pub queued: Counter,
    /// Retries that the budget did not permit.
    pub retries_denied: Counter,
    /// Requests that went to the server they were bound to.
    pub sticky_hits: Counter,
    /// Requests that were bound to no server, or to an unknown one.
    pub sticky_misses: Counter,
    /// Requests that could not get the server they were bound to, and got another one.
    pub sticky_redispatches: Counter,
    /// Requests with an outcome that the breaker counts, if the pool has one.
    pub outcomes: Counter,
    /// Failures among `outcomes`.
    pub failures: Counter,
    /// Failed tries that count for passive ejection, over all its servers.
    pub server_failures: Counter,
    /// Requests whose clients were redirected to a server.
    pub sent_on: Counter,
    /// Second tries started beside a slow first one.
    pub hedges: Counter,
    /// Second tries whose response was forwarded to the client.
    pub hedges_won: Counter,
    /// Responses replaced by a file that the server named, and uploads stored on behalf of the server.
    pub offloads: Counter,
    /// Responses that named a file that could not be sent, or a path at which an upload could not be stored.
    pub offloads_failed: Counter,
    /// Time from the last byte of the request to the first byte of the response, if second tries depend on
    /// it.
    pub first_byte: LazyHistogram,
    /// Waiting times of the requests that waited for a server.
    pub queue_time: LazyHistogram,
}

/// Counters of one thread for a server. The fields that every request changes come first. With thousands of
/// servers these counters are not in the CPU cache, and each cache line costs a memory access.
#[derive(Debug, Default)]
#[repr(C)]
pub struct ServerCounters {
    /// Tries for which the server was chosen: a request that is retried here counts again.
    pub requests: Counter,
    /// Requests sent over a reused connection.
    pub reuses: Counter,
    /// Idle connections kept open.
    pub idle: Counter,
    /// Bytes sent to the server.
    pub bytes_out: Counter,
    /// Bytes received from the server.
    pub bytes_in: Counter,
    /// Responses by class.
    pub responses: StatusClasses,
    /// Response times: [`ServerCounters::FIRST_BYTE`] and [`ServerCounters::TOTAL`].
    pub times: HistogramPair,
    /// Connections opened.
    pub connections: Counter,
    /// Time from the start of a connect to its end, including the TLS handshake.
    pub connect: LazyHistogram,
    /// Connections that could not be opened.
    pub connect_errors: Counter,
    /// Responses that did not arrive, or were malformed.
    pub response_errors: Counter,
    /// Requests that were retried after failing here.
    pub retries: Counter,
    /// Retries because no connection could be opened.
    pub connect_retries: Counter,
    /// Retries that went to another server.
    pub redispatches: Counter,
    /// Requests whose client disconnected while this server worked on them.
    pub client_aborts: Counter,
    /// Responses that this server aborted, or stalled, after they had begun.
    pub server_aborts: Counter,
    /// Failed tries that count for passive ejection.
    pub failures: Counter,
}

impl ServerCounters {
    /// Time from the last byte of the request to the first byte of the response.
    pub const FIRST_BYTE: Side = Side::First;
    /// Time from the choice of the server to the last byte of the response.
    pub const TOTAL: Side = Side::Second;
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    #[test]
    fn each_thread_has_its_copy_as_long_as_there_are_enough() {
        let shards = Shards::<Counter>::new(2);
        for (thread, count) in [(0, 1), (1, 10), (2, 100), (5, 1000)] {
            shards.of(thread).add(count);
        }
        assert_eq!(shards.iter().map(Counter::get).collect::<Vec<_>>(), [101, 1010]);
    }

    #[test]
    fn a_clone_counts_where_the_original_does() {
        let shards = Shards::<Counter>::new(2);
        shards.clone().of(1).add(3);
        assert_eq!(shards.sum(Counter::get), 3);
    }

    #[test]
    fn what_every_request_changes_of_a_listeners_counters_is_on_two_cache_lines() {
        let end = offset_of!(ListenerCounters, duration) + size_of::<LazyHistogram>();
        assert!(end <= align_of::<Padded<ListenerCounters>>(), "{end}");
        assert!(end <= offset_of!(ListenerCounters, connections));
    }

    #[test]
    fn what_every_request_changes_of_a_servers_counters_is_on_one_pair_of_cache_lines() {
        let end = offset_of!(ServerCounters, times) + size_of::<HistogramPair>();
        assert!(end <= align_of::<Padded<ServerCounters>>(), "{end}");
        assert!(end <= offset_of!(ServerCounters, connections));
    }
}
