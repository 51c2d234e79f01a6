//! Request counters of a storage area.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use weir_control::{MethodsSnapshot, Responses};
use weir_net::service::Done;

/// Number of shards, so that few workers share one.
const SHARDS: usize = 16;

/// Kinds of methods, grouped by their cost and purpose.
const KINDS: [&str; 6] = ["read", "write", "list", "change", "lock", "other"];

/// Counters of an area. Each worker uses its own cache lines, as long as there are enough shards.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    shards: [Shard; SHARDS],
}

#[derive(Debug, Default)]
#[repr(align(128))]
struct Shard {
    kinds: [Kind; KINDS.len()],
}

#[derive(Debug, Default)]
struct Kind {
    /// Responses by status class: 1xx to 5xx, and all others.
    responses: [AtomicU64; 6],
    aborted: AtomicU64,
    request_bytes: AtomicU64,
    response_bytes: AtomicU64,
}

impl Counters {
    /// Counts a finished request.
    pub(crate) fn count(&self, done: &Done<'_>) {
        let Some(kind) = self.shards.get(shard()).and_then(|shard| shard.kinds.get(kind_of(done.method)))
        else {
            return;
        };
        let add = |counter: &AtomicU64, number| {
            counter.fetch_add(number, Ordering::Relaxed);
        };
        if let Some(status) = done.status {
            let class = usize::from(status / 100).wrapping_sub(1).min(5);
            kind.responses.get(class).iter().for_each(|counter| add(counter, 1));
        }
        if !done.whole {
            add(&kind.aborted, 1);
        }
        if done.request_bytes > 0 {
            add(&kind.request_bytes, done.request_bytes);
        }
        add(&kind.response_bytes, done.response_bytes);
    }

    /// Sums the shards.
    pub(crate) fn snapshot(&self) -> Vec<MethodsSnapshot> {
        let each = KINDS.iter().enumerate().map(|(at, name)| {
            let kinds = || self.shards.iter().filter_map(|shard| shard.kinds.get(at));
            let sum = |of: &dyn Fn(&Kind) -> &AtomicU64| {
                kinds().fold(0_u64, |sum, kind| sum.wrapping_add(of(kind).load(Ordering::Relaxed)))
            };
            let mut classes = [0_u64; 6];
            for kind in kinds() {
                for (sum, counter) in classes.iter_mut().zip(&kind.responses) {
                    *sum = sum.wrapping_add(counter.load(Ordering::Relaxed));
                }
            }
            MethodsSnapshot {
                kind: (*name).to_owned(),
                responses: Responses::from(classes),
                aborted: sum(&|kind| &kind.aborted),
                request_bytes: sum(&|kind| &kind.request_bytes),
                response_bytes: sum(&|kind| &kind.response_bytes),
            }
        });
        each.collect()
    }
}

fn kind_of(method: &[u8]) -> usize {
    match method {
        b"GET" | b"HEAD" => 0,
        b"PUT" | b"PATCH" | b"POST" => 1,
        b"PROPFIND" => 2,
        b"DELETE" | b"MKCOL" | b"COPY" | b"MOVE" | b"PROPPATCH" => 3,
        b"LOCK" | b"UNLOCK" => 4,
        _ => 5,
    }
}

/// Returns the shard of the current thread.
fn shard() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    thread_local! {
        static OWN: Cell<Option<usize>> = const { Cell::new(None) };
    }
    OWN.with(|own| {
        own.get().unwrap_or_else(|| {
            let shard = NEXT.fetch_add(1, Ordering::Relaxed) % SHARDS;
            own.set(Some(shard));
            shard
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_by_the_kind_of_their_method_on_whatever_thread() {
        let counters = Counters::default();
        let done =
            |method, status, whole| Done { method, status, request_bytes: 3, response_bytes: 5, whole };
        counters.count(&done(b"GET", Some(206), true));
        std::thread::scope(|scope| {
            scope.spawn(|| counters.count(&done(b"HEAD", Some(404), true)));
        });
        counters.count(&done(b"GET", None, false));
        counters.count(&done(b"BREW", Some(999), true));
        let snapshot = counters.snapshot();
        let reads = &snapshot[0];
        assert_eq!(
            (reads.kind.as_str(), reads.responses.success, reads.responses.client_error),
            ("read", 1, 1)
        );
        assert_eq!((reads.aborted, reads.request_bytes, reads.response_bytes), (1, 9, 15));
        assert_eq!((snapshot[5].responses.other, snapshot[1].responses), (1, Responses::default()));
    }
}
