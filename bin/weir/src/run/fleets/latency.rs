//! How long answers take, as far as that says anything: where they fail or do not come, quick ones are no proof of little to do.

use std::time::Duration;

use weir_control::{Latency, PoolSnapshot};

/// What has come since a look back, and how long it took.
#[derive(Debug, Default)]
pub(super) struct Answers {
    since: Option<(Duration, Counted)>,
    latest: Option<Duration>,
}

/// What a pool has counted since its start.
#[derive(Debug, Clone)]
struct Counted {
    total: Latency,
    requests: u64,
    /// Tries that have failed, and answers that say so.
    failed: u64,
}

/// Of fewer answers there is no 95th percentile worth the name.
const ANSWERS_MIN: u64 = 20;
/// Where so few come, these have to do after so long.
const PATIENCE: Duration = Duration::from_secs(10);

impl Answers {
    /// Within which time 95% of the latest requests were answered: 0 where none has come. `None` = nobody knows, because most
    /// were not answered, or with errors.
    pub(super) fn p95(&mut self, now: Duration, pool: &PoolSnapshot) -> Option<Duration> {
        let traffic = &pool.traffic;
        let counted = Counted {
            total: traffic.total.clone(),
            requests: traffic.requests_total,
            failed: traffic.responses.server_error + traffic.connect_errors + traffic.response_errors,
        };
        let under_way = traffic.active.current + pool.queue.current;
        let Some((at, before)) = &self.since else {
            self.since = Some((now, counted));
            return None;
        };
        let answered = counted.total.since(&before.total);
        let came = counted.requests.saturating_sub(before.requests);
        let failed = counted.failed.saturating_sub(before.failed);
        let lost = came.saturating_sub(answered.count() + under_way);
        let is_idle = came == 0 && under_way == 0 && answered.count() == 0;
        let is_over = now.saturating_sub(*at) >= PATIENCE;
        let latest = if is_idle {
            Some(Duration::ZERO)
        } else if (failed + lost) * 2 > came.max(answered.count()) || answered.count() == 0 {
            None
        } else if answered.count() < ANSWERS_MIN && !is_over {
            return self.latest;
        } else {
            answered.quantile_us(0.95).map(Duration::from_micros)
        };
        // Failures count until answers outnumber them, or for a while.
        if latest.is_some() || is_over {
            self.since = Some((now, counted));
        }
        self.latest = latest;
        latest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pool in which things happen, second by second.
    #[derive(Default)]
    struct Play {
        answers: Answers,
        pool: PoolSnapshot,
        second: u64,
    }

    impl Play {
        /// So many requests come and are answered within so many milliseconds, with errors or not.
        fn second(&mut self, requests: u64, ms: u64, errors: bool) -> Option<Duration> {
            self.second += 1;
            let traffic = &mut self.pool.traffic;
            traffic.requests_total += requests;
            traffic.total.record(ms * 1_000, requests);
            match errors {
                true => traffic.responses.server_error += requests,
                false => traffic.responses.success += requests,
            }
            self.answers.p95(Duration::from_secs(self.second), &self.pool)
        }

        fn seconds(&mut self, seconds: u64, requests: u64, ms: u64, errors: bool) -> Option<Duration> {
            (0..seconds).map(|_| self.second(requests, ms, errors)).last().unwrap()
        }
    }

    fn about(p95: Option<Duration>, ms: u64) -> bool {
        p95.is_some_and(|p95| p95.abs_diff(Duration::from_millis(ms)) <= Duration::from_millis(ms / 8))
    }

    #[test]
    fn quick_errors_and_no_answers_are_no_low_latency() {
        let mut play = Play::default();
        assert!(about(play.seconds(5, 100, 200, false), 200));
        assert_eq!(play.seconds(30, 100, 1, true), None);
        assert!(about(play.seconds(30, 100, 200, false), 200));
        // They come, and nobody answers: neither at once nor later.
        play.pool.traffic.requests_total += 100;
        assert_eq!(play.second(0, 0, false), None);
        play.pool.traffic.active.current = 100;
        assert_eq!(play.seconds(30, 0, 0, false), None);
    }

    #[test]
    fn without_requests_none_has_to_wait() {
        let mut play = Play::default();
        play.seconds(5, 100, 200, false);
        assert_eq!(play.seconds(2, 0, 0, false), Some(Duration::ZERO));
    }

    #[test]
    fn a_few_answers_are_added_up_before_they_count() {
        let mut play = Play::default();
        assert!(about(play.seconds(5, 100, 200, false), 200));
        // One that happens to be quick.
        assert!(about(play.second(1, 1, false), 200));
        assert!(about(play.seconds(12, 1, 50, false), 50));
    }

    #[test]
    fn a_slow_answer_that_is_under_way_is_not_lost() {
        let mut play = Play::default();
        play.seconds(5, 100, 200, false);
        play.pool.traffic.active.current = 30;
        play.pool.traffic.requests_total += 30;
        assert!(about(play.second(100, 200, false), 200));
    }
}
