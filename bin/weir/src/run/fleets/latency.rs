//! Estimates the 95th percentile of latency for a fleet. Fast responses do not prove low load if they are
//! errors or if many requests get no response.

use std::time::Duration;

use weir_control::{Latency, PoolSnapshot};
use weir_scale::P95;

/// Counters since an earlier round, from which the percentile is computed.
#[derive(Debug, Default)]
pub(super) struct Answers {
    since: Option<(Duration, Counted)>,
    latest: Option<P95>,
    /// True if many requests arrived and none was answered: the pool is not quiet but in trouble.
    hangs: bool,
}

/// Counters of a pool since its start.
#[derive(Debug, Clone)]
struct Counted {
    total: Latency,
    requests: u64,
    /// Failed attempts and responses with a server error.
    failed: u64,
}

/// Minimum number of responses for a meaningful 95th percentile.
const ANSWERS_MIN: u64 = 20;
/// Time after which fewer responses than the minimum are accepted.
const PATIENCE: Duration = Duration::from_secs(10);

impl Answers {
    /// Returns the 95th percentile of the latest responses; 0 if no request has arrived for a while. Returns
    /// `None` if it is unknown: there was no response, or too few and mostly errors.
    pub(super) fn p95(&mut self, now: Duration, pool: &PoolSnapshot) -> Option<P95> {
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
        let gone = answered.count() + lost;
        let is_quiet = came == 0 && answered.count() == 0 && pool.queue.current == 0;
        let span = now.saturating_sub(*at);
        let is_over = span >= PATIENCE;
        if answered.count() > 0 || under_way == 0 {
            self.hangs = false;
        }
        let p95 = answered.quantile_us(0.95).map(Duration::from_micros);
        // The latency of one very long request is unknown until it ends. An otherwise quiet fleet does not
        // wait for it.
        let latest = if is_quiet && (under_way == 0 || is_over && !self.hangs) {
            Some(P95::Is(Duration::ZERO))
        } else if gone < ANSWERS_MIN && !is_over {
            return self.latest;
        } else if (failed + lost) * 2 > gone {
            let is_enough = answered.count() >= ANSWERS_MIN || is_over;
            p95.filter(|_| is_enough).map(|p95| {
                // Queued requests leave the queue at the same rate as earlier ones (Little's law), even if
                // they leave by a timeout.
                P95::AtLeast(p95 + span.mul_f64(pool.queue.current as f64 / gone.max(1) as f64))
            })
        } else if answered.count() < ANSWERS_MIN && !is_over {
            return self.latest;
        } else {
            p95.map(P95::Is)
        };
        if is_over && answered.count() == 0 && came >= ANSWERS_MIN {
            self.hangs = true;
        }
        // Failures count until successful responses outnumber them, or until the time is over.
        if matches!(latest, Some(P95::Is(_))) || is_over {
            self.since = Some((now, counted));
        }
        self.latest = latest;
        latest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A simulated pool that advances second by second.
    #[derive(Default)]
    struct Play {
        answers: Answers,
        pool: PoolSnapshot,
        second: u64,
    }

    impl Play {
        /// Simulates a second in which `requests` are answered within `ms` milliseconds, with errors or
        /// without.
        fn second(&mut self, requests: u64, ms: u64, errors: bool) -> Option<P95> {
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

        fn seconds(&mut self, seconds: u64, requests: u64, ms: u64, errors: bool) -> Option<P95> {
            (0..seconds).map(|_| self.second(requests, ms, errors)).last().unwrap()
        }
    }

    fn about(p95: Option<P95>, ms: u64) -> bool {
        matches!(p95, Some(P95::Is(p95)) if is_near(p95, ms))
    }

    fn at_least(p95: Option<P95>, ms: u64) -> bool {
        matches!(p95, Some(P95::AtLeast(p95)) if is_near(p95, ms))
    }

    fn is_near(p95: Duration, ms: u64) -> bool {
        p95.abs_diff(Duration::from_millis(ms)) <= Duration::from_millis(ms) / 8
    }

    #[test]
    fn quick_errors_and_no_answers_are_no_low_latency() {
        let mut play = Play::default();
        assert!(about(play.seconds(5, 100, 200, false), 200));
        assert!(at_least(play.seconds(30, 100, 1, true), 1));
        assert!(about(play.seconds(30, 100, 200, false), 200));
        // Requests arrive and get no response, neither at once nor later.
        play.pool.traffic.requests_total += 100;
        assert_eq!(play.second(0, 0, false), None);
        play.pool.traffic.active.current = 100;
        assert_eq!(play.seconds(30, 0, 0, false), None);
    }

    #[test]
    fn without_requests_none_has_to_wait() {
        let mut play = Play::default();
        play.seconds(5, 100, 200, false);
        assert_eq!(play.seconds(2, 0, 0, false), Some(P95::Is(Duration::ZERO)));
    }

    #[test]
    fn a_few_answers_are_added_up_before_they_count() {
        let mut play = Play::default();
        assert!(about(play.seconds(5, 100, 200, false), 200));
        // A single fast response.
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
    #[test]
    fn of_an_overload_that_most_fall_victim_to_the_least_is_known() {
        let mut play = Play::default();
        assert!(about(play.seconds(5, 100, 200, false), 200));
        for _ in 0..30 {
            // Requests that Weir itself answers.
            play.pool.traffic.requests_total += 150;
            assert!(at_least(play.second(100, 800, false), 800));
        }
        // 250 requests a second leave the queue, so the 500 in it wait another 2 seconds.
        play.pool.queue.current = 500;
        play.pool.traffic.requests_total += 650;
        assert!(at_least(play.second(100, 800, false), 2_800));
    }

    #[test]
    fn a_few_answers_among_failures_say_nothing_at_once() {
        let mut play = Play::default();
        assert!(about(play.seconds(5, 100, 200, false), 200));
        play.pool.traffic.requests_total += 100;
        assert_eq!(play.second(3, 9_000, false), None);
    }

    #[test]
    fn a_long_request_does_not_keep_a_quiet_fleet_large() {
        let mut play = Play::default();
        assert!(about(play.seconds(5, 100, 200, false), 200));
        play.pool.traffic.requests_total += 1;
        play.pool.traffic.active.current = 1;
        assert!(about(play.second(0, 0, false), 200));
        assert_eq!(play.seconds(30, 0, 0, false), Some(P95::Is(Duration::ZERO)));
        // A pool with a queued request is not quiet.
        play.pool.queue.current = 1;
        assert_eq!(play.seconds(30, 0, 0, false), None);
    }
}
