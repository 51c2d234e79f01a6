use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use weir_stats::{HistogramPair, SharedHistogram, Side};

use super::{Counter, RefusalCounts, StatusClasses};

/// One copy of `T` for each thread that counts, on cache lines of its own; readers sum them up. A clone has the same copies.
#[derive(Debug)]
pub struct Shards<T>(Arc<[Padded<T>]>);

impl<T> Clone for Shards<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

/// Keeps neighbours off each other's cache lines (128 bytes: the prefetcher fetches them in pairs).
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
    /// `count` fresh copies, at least one.
    pub fn new(count: usize) -> Self {
        Self((0..count.max(1)).map(|_| Padded::default()).collect())
    }
}

impl<T> Shards<T> {
    /// The copy of thread `index`.
    #[inline]
    pub fn of(&self, index: usize) -> &T {
        // A dozen times for each request, and a division takes longer than what is counted.
        match self.0.get(index) {
            Some(padded) => &padded.0,
            None => self.of_fewer(index),
        }
    }

    /// Where there are fewer copies than threads, which is nowhere but in tests, these share them.
    #[cold]
    fn of_fewer(&self, index: usize) -> &T {
        &self.0[index % self.0.len()].0
    }

    /// Every copy.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter().map(|padded| &padded.0)
    }

    /// The sum of one counter over all copies.
    pub fn sum(&self, counter: impl Fn(&T) -> u64) -> u64 {
        self.iter().map(counter).fold(0, u64::wrapping_add)
    }
}

/// A histogram that takes memory once it is used: of 10,000 servers most may be idle.
#[derive(Debug, Default)]
pub struct LazyHistogram(OnceLock<Box<SharedHistogram>>);

impl LazyHistogram {
    /// Counts a value, in microseconds.
    pub fn record(&self, micros: u64) {
        self.0.get_or_init(Box::default).record(micros);
    }

    /// Reads what [`LazyHistogram::record`] would change, so that it is in the processor's cache by then.
    pub fn peek(&self, micros: u64) -> u64 {
        self.get().map_or(0, |histogram| histogram.peek(micros))
    }

    /// The histogram, if anything was ever recorded.
    pub fn get(&self) -> Option<&SharedHistogram> {
        self.0.get().map(Box::as_ref)
    }
}

/// What one thread has counted for a listener. What every request changes stands first: the kernel's work in between leaves little of it in the
/// first cache, so that each line counts.
#[derive(Debug, Default)]
#[repr(C)]
pub struct ListenerCounters {
    /// Requests (TCP: connections) that were read.
    pub requests: Counter,
    /// From clients.
    pub bytes_in: Counter,
    /// To clients.
    pub bytes_out: Counter,
    /// Responses sent.
    pub responses: StatusClasses,
    /// From the head's last byte to the response's last byte.
    pub duration: LazyHistogram,
    /// Connections accepted.
    pub connections: Counter,
    /// Connections open now.
    pub connections_open: Counter,
    /// Connections refused because of a limit.
    pub connections_denied: Counter,
    /// Requests that could not be understood, or did not come in time.
    pub request_errors: Counter,
    /// Requests that a rule refused.
    pub requests_denied: Counter,
    /// Requests that a route denied because its expression failed.
    pub expressions_denied: Counter,
    /// Requests that a route did not take because its expression failed.
    pub expressions_passed_over: Counter,
    /// Requests that were refused for what was wrong with them.
    pub refused: RefusalCounts,
    /// Requests answered without a server being asked.
    pub intercepted: Counter,
    /// Answers of Weir's own by class, those included that it gave in a server's place.
    pub answered: StatusClasses,
    /// Clients that went away before the end.
    pub client_aborts: Counter,
    /// TLS handshakes completed.
    pub tls_handshakes: Counter,
    /// TLS handshakes that resumed a session.
    pub tls_resumed: Counter,
    /// TLS handshakes that failed.
    pub tls_failures: Counter,
}

/// What one thread has counted for a pool as a whole.
#[derive(Debug, Default)]
pub struct PoolCounters {
    /// Requests that came here, each once.
    pub requests: Counter,
    /// Tries that are under way at its servers.
    pub active: Counter,
    /// Requests for which no server was left.
    pub nobody_left: Counter,
    /// Requests for which every server was at its limit.
    pub busy: Counter,
    /// Further tries.
    pub retries: Counter,
    /// Further tries that went to another server.
    pub redispatches: Counter,
    /// Requests that waited for a server.
    pub queued: Counter,
    /// Retries that the budget did not permit.
    pub retries_denied: Counter,
    /// Requests that went to the server they were bound to.
    pub sticky_hits: Counter,
    /// Requests that were bound to no server, or to one that nobody knows.
    pub sticky_misses: Counter,
    /// Requests that could not have the server they were bound to, and got another.
    pub sticky_redispatches: Counter,
    /// Requests with an outcome that the breaker goes by, where there is one.
    pub outcomes: Counter,
    /// Of these, the failures.
    pub failures: Counter,
    /// Outcomes of tries that count for passive ejection, of all its servers.
    pub server_failures: Counter,
    /// Requests whose clients were sent on to a server themselves.
    pub sent_on: Counter,
    /// Second tries beside a slow first one.
    pub hedges: Counter,
    /// Of these, those whose response was passed on.
    pub hedges_won: Counter,
    /// Responses in whose place a file was sent that the server named, and uploads that were stored for it.
    pub offloads: Counter,
    /// Responses that named a file which could not be sent, or a place where an upload could not be stored.
    pub offloads_failed: Counter,
    /// From the request's last byte to the response's first, where second tries go by it.
    pub first_byte: LazyHistogram,
    /// How long requests waited for a server that had to.
    pub queue_time: LazyHistogram,
}

/// What one thread has counted for a server. What every request changes stands first: with thousands of servers no cache holds these counters, and each
/// line of memory that a request needs has to be waited for.
#[derive(Debug, Default)]
#[repr(C)]
pub struct ServerCounters {
    /// Tries that it was chosen for: a request that is tried here again counts again.
    pub requests: Counter,
    /// Requests sent over a connection that had been used before.
    pub reuses: Counter,
    /// Idle connections kept.
    pub idle: Counter,
    /// To the server.
    pub bytes_out: Counter,
    /// From the server.
    pub bytes_in: Counter,
    /// Responses by class.
    pub responses: StatusClasses,
    /// How long responses took: [`ServerCounters::FIRST_BYTE`] and [`ServerCounters::TOTAL`].
    pub times: HistogramPair,
    /// Connections opened.
    pub connections: Counter,
    /// From the start of a connect to its end, TLS included.
    pub connect: LazyHistogram,
    /// Connections that could not be opened.
    pub connect_errors: Counter,
    /// Responses that did not come, or came broken.
    pub response_errors: Counter,
    /// Requests that were tried again after failing here.
    pub retries: Counter,
    /// Of these, the ones that failed because no connection could be opened.
    pub connect_retries: Counter,
    /// Of these, the ones that went on to another server.
    pub redispatches: Counter,
    /// Clients that went away while this server worked for them.
    pub client_aborts: Counter,
    /// Responses that this server broke off, or let stall, after they had begun.
    pub server_aborts: Counter,
    /// Outcomes that count for passive ejection.
    pub failures: Counter,
}

impl ServerCounters {
    /// From the request's last byte to the response's first.
    pub const FIRST_BYTE: Side = Side::First;
    /// From the choice of the server to the response's last byte.
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
