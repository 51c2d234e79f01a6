//! The waiting times of requests that have no response yet.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use super::{Average, Moment};

/// Time for which the requests without a response have been waiting (NGINX's `inflight`).
///
/// The number of requests (20 bits) and the sum of their start times (44 bits, wraps) change together, so the
/// mean wait is exact at any moment. Its moving average has NGINX's pace of a twentieth for each pick in the
/// pool. NGINX updates it for every server at each pick; here a server's missing updates are made when it is
/// read again.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    requests: AtomicU64,
    average: Average,
    picks_at_sample: AtomicU32,
}

const SUM_BITS: u32 = 44;
const SUM_MASK: u64 = (1 << SUM_BITS) - 1;
const COUNT_MAX: u64 = u64::MAX >> SUM_BITS;

impl Waiting {
    /// Counts a request that begins to wait. Returns false if a million requests wait already; then it is not
    /// counted and must not end.
    pub(crate) fn begin(&self, now_ms: u64) -> bool {
        let begun = |requests: u64| {
            let (count, sum) = unpack(requests);
            (count < COUNT_MAX).then(|| pack(count + 1, sum.wrapping_add(now_ms)))
        };
        self.requests.fetch_update(Relaxed, Relaxed, begun).is_ok()
    }

    /// Counts that a request that began to wait at `begun_ms` has stopped waiting.
    pub(crate) fn end(&self, begun_ms: u64) {
        let ended = |requests: u64| {
            let (count, sum) = unpack(requests);
            let left = count.checked_sub(1)?;
            Some(if left == 0 { 0 } else { pack(left, sum.wrapping_sub(begun_ms)) })
        };
        let _ = self.requests.fetch_update(Relaxed, Relaxed, ended);
    }

    /// Updates and returns the moving average in milliseconds; `None` = no request waits.
    pub(crate) fn sampled_ms(&self, moment: Moment) -> Option<u64> {
        let mean_ms = self.mean_ms(moment.now_ms)?;
        // A worker that was overtaken brings an earlier number. It must not cause picks to be counted twice.
        let later = |before: u32| (moment.picks.wrapping_sub(before) <= u32::MAX / 2).then_some(moment.picks);
        if let Ok(before) = self.picks_at_sample.fetch_update(Relaxed, Relaxed, later) {
            self.average.add_times(mean_ms, moment.picks.wrapping_sub(before));
        }
        Some(self.average.ms())
    }

    fn mean_ms(&self, now_ms: u64) -> Option<u64> {
        let (count, sum) = unpack(self.requests.load(Relaxed));
        let waited = count.wrapping_mul(now_ms).wrapping_sub(sum) & SUM_MASK;
        // A clock that is behind the start of the newest request makes a sum just below 0.
        let waited = if waited > SUM_MASK / 2 { 0 } else { waited };
        waited.checked_div(count)
    }
}

fn pack(count: u64, sum: u64) -> u64 {
    count << SUM_BITS | (sum & SUM_MASK)
}

fn unpack(requests: u64) -> (u64, u64) {
    (requests >> SUM_BITS, requests & SUM_MASK)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(now_ms: u64, picks: u32) -> Moment {
        Moment { now_ms, picks }
    }

    #[test]
    fn the_mean_wait_is_that_of_those_who_wait() {
        // Large enough for the sum to wrap.
        let start = 1_u64 << 43;
        let waiting = Waiting::default();
        let mut begun = Vec::new();
        for step in 0..200_u64 {
            let now = start + step * 37;
            if step % 3 == 2 {
                waiting.end(begun.remove((step * 7) as usize % begun.len()));
            } else {
                assert!(waiting.begin(now));
                begun.push(now);
            }
            let sum: u64 = begun.iter().map(|begun| now - begun).sum();
            assert_eq!(waiting.mean_ms(now), sum.checked_div(begun.len() as u64));
        }
        begun.iter().for_each(|begun| waiting.end(*begun));
        assert_eq!(waiting.mean_ms(start + 10_000), None);
        waiting.end(5);
        assert_eq!(waiting.mean_ms(start), None, "one end too many is harmless");
    }

    #[test]
    fn the_average_moves_with_the_picks_of_the_pool() {
        let waiting = Waiting::default();
        assert_eq!(waiting.sampled_ms(at(0, 1)), None);
        waiting.begin(0);
        assert_eq!(waiting.sampled_ms(at(1_000, 2)), Some(1_000));
        assert_eq!(waiting.sampled_ms(at(3_000, 2)), Some(1_000), "nothing was picked since");
        assert_eq!(waiting.sampled_ms(at(3_000, 3)), Some(1_100));
        assert_eq!(waiting.sampled_ms(at(3_000, 2)), Some(1_100), "an earlier pick");
        assert_eq!(waiting.sampled_ms(at(3_000, 3)), Some(1_100), "is not made up for again");
        assert_eq!(waiting.sampled_ms(at(3_000, 1_000)), Some(3_000));
    }

    #[test]
    fn a_clock_that_is_behind_makes_no_endless_wait() {
        let waiting = Waiting::default();
        waiting.begin(1_000);
        assert_eq!(waiting.mean_ms(999), Some(0));
    }
}
