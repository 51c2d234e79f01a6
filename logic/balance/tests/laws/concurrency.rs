//! Tests of an adaptive limit against a simulated server whose latency rises beyond its capacity.

use proptest::prelude::*;
use weir_balance::{Concurrency, ConcurrencyAlgorithm, ConcurrencyRule, Pick, Picker};

use crate::pool::{Pool, pick};

/// A server that handles `capacity` requests at once without getting slower.
struct Server {
    capacity: f64,
    latency_us: f64,
    now_us: u64,
}

impl Server {
    fn latency_us(&self, in_flight: u32) -> f64 {
        self.latency_us * (f64::from(in_flight) / self.capacity).max(1.0)
    }

    /// Runs as many clients as the limit allows for some seconds. Returns the limits of the last second.
    fn saturate(&mut self, limit: &mut Concurrency, rule: &ConcurrencyRule, seconds: u64) -> Vec<u32> {
        self.load(limit, rule, seconds, u32::MAX)
    }

    fn load(
        &mut self,
        limit: &mut Concurrency,
        rule: &ConcurrencyRule,
        seconds: u64,
        clients: u32,
    ) -> Vec<u32> {
        let end_us = self.now_us + seconds * 1_000_000;
        let mut last = Vec::new();
        while self.now_us < end_us {
            let in_flight = limit.limit(rule).min(clients);
            let latency_us = self.latency_us(in_flight);
            self.now_us += ((latency_us / f64::from(in_flight)) as u64).max(1);
            limit.ended(rule, self.now_us, latency_us as u64, in_flight, false);
            if self.now_us + 1_000_000 > end_us {
                last.push(limit.limit(rule));
            }
        }
        last
    }
}

fn gradient(tolerance_percent: u8) -> ConcurrencyRule {
    let algorithm = ConcurrencyAlgorithm::Gradient { tolerance_percent };
    ConcurrencyRule { algorithm, min: 1, max: 10_000 }
}

fn aimd(latency_max_us: u64) -> ConcurrencyRule {
    ConcurrencyRule { algorithm: ConcurrencyAlgorithm::Aimd { latency_max_us }, min: 1, max: 10_000 }
}

fn assert_near(limits: &[u32], capacity: f64, slack: f64) {
    let room = capacity.sqrt() + 2.0;
    for limit in limits {
        let limit = f64::from(*limit);
        // A measurement at half the limit may be in progress.
        let fits = limit >= capacity * 0.45 - 1.0 && limit <= capacity * slack + 2.0 * room;
        assert!(fits, "limit {limit} for a capacity of {capacity}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_gradient_finds_the_capacity_and_stays_there(capacity in 8..300_u32, latency_ms in 2..60_u32) {
        let mut server =
            Server { capacity: capacity.into(), latency_us: f64::from(latency_ms) * 1_000.0, now_us: 0 };
        let rule = gradient(25);
        let mut limit = Concurrency::new(&rule);
        for _ in 0..3 {
            let limits = server.saturate(&mut limit, &rule, 120);
            assert_near(&limits, capacity.into(), 1.25);
        }
    }

    #[test]
    fn aimd_keeps_the_latency_where_it_is_to_be(capacity in 4..200_u32, latency_ms in 2..60_u32) {
        let mut server =
            Server { capacity: capacity.into(), latency_us: f64::from(latency_ms) * 1_000.0, now_us: 0 };
        let rule = aimd(u64::from(latency_ms) * 1_500);
        let mut limit = Concurrency::new(&rule);
        let limits = server.saturate(&mut limit, &rule, 240);
        for limit in limits {
            let limit = f64::from(limit);
            prop_assert!(limit >= f64::from(capacity) && limit <= f64::from(capacity) * 1.5 + 2.0, "{limit}");
        }
    }

    #[test]
    fn no_outcome_leaves_the_bounds(
        ends in prop::collection::vec((any::<u32>(), any::<u64>(), any::<u32>(), any::<bool>()), 0..400),
        min in 0..50_u32,
        max in 0..50_u32,
        is_aimd in any::<bool>(),
    ) {
        let rule = ConcurrencyRule { min, max, ..if is_aimd { aimd(1_000) } else { gradient(0) } };
        let mut limit = Concurrency::new(&rule);
        let mut now_us = 0_u64;
        for (step_us, latency_us, in_flight, failed) in ends {
            now_us = now_us.wrapping_add(step_us.into());
            limit.ended(&rule, now_us, latency_us, in_flight, failed);
            let limit = limit.limit(&rule);
            prop_assert!(limit >= min.max(1) && limit <= max.max(min).max(1), "{limit}");
        }
    }
}

#[test]
fn the_limit_follows_a_server_that_loses_and_regains_capacity() {
    for rule in [gradient(25), aimd(15_000)] {
        let mut server = Server { capacity: 100.0, latency_us: 10_000.0, now_us: 0 };
        let mut limit = Concurrency::new(&rule);
        server.saturate(&mut limit, &rule, 120);
        server.capacity = 25.0;
        assert_near(&server.saturate(&mut limit, &rule, 120), 25.0, 1.5);
        server.capacity = 100.0;
        assert_near(&server.saturate(&mut limit, &rule, 240), 100.0, 1.5);
    }
}

#[test]
fn a_server_that_got_slower_for_good_is_not_throttled_for_ever() {
    let rule = gradient(25);
    let mut server = Server { capacity: 100.0, latency_us: 10_000.0, now_us: 0 };
    let mut limit = Concurrency::new(&rule);
    server.saturate(&mut limit, &rule, 120);
    server.latency_us = 40_000.0;
    assert_near(&server.saturate(&mut limit, &rule, 300), 100.0, 1.25);
}

#[test]
fn a_limit_that_is_not_used_does_not_grow() {
    for rule in [gradient(25), aimd(15_000)] {
        let mut server = Server { capacity: 100.0, latency_us: 10_000.0, now_us: 0 };
        let mut limit = Concurrency::new(&rule);
        let limits = server.load(&mut limit, &rule, 120, 5);
        assert!(limits.iter().all(|limit| *limit <= 20), "{limits:?}");
    }
}

#[test]
fn failures_lower_it_whatever_the_latency() {
    for rule in [gradient(25), aimd(15_000)] {
        let mut limit = Concurrency::new(&rule);
        for number in 0..2_000_u64 {
            limit.ended(&rule, number * 10_000, 100, 20, true);
        }
        assert!(limit.limit(&rule) <= 2, "{}", limit.limit(&rule));
    }
}

#[test]
fn a_measured_limit_makes_a_server_busy_and_lets_go_of_it_again() {
    for algorithm in weir_balance::Algorithm::ALL {
        let mut pool = Pool::new(algorithm, &[1]);
        pool.candidates[0].connections_max = Some(1_000);
        let (roster, mut picker) = (pool.roster(), Picker::new(0));
        let load = std::sync::Arc::clone(&pool.candidates[0].load);
        roster.limit(0, &load, 2);
        assert!(roster.try_begin(0) && roster.try_begin(0) && !roster.try_begin(0), "{algorithm}");
        assert_eq!((pick(&mut picker, &roster, 0), roster.room()), (Pick::Busy, Some(0)), "{algorithm}");
        roster.limit(0, &load, 3);
        assert!(!roster.is_busy() && roster.has_room(0), "{algorithm}");
        assert_eq!(pick(&mut picker, &roster, 0), Pick::Server(0), "{algorithm}");
        roster.limit(0, &load, 1);
        assert!(roster.is_busy(), "{algorithm}");
        roster.end(0, &load);
        assert!(roster.is_busy(), "{algorithm}");
        roster.end(0, &load);
        assert_eq!((roster.is_busy(), roster.room()), (false, Some(1)), "{algorithm}");
    }
}

#[test]
fn a_request_that_was_given_up_early_says_nothing_of_a_limit() {
    let rule = |algorithm| ConcurrencyRule { algorithm, min: 1, max: 100 };
    let aimd = rule(ConcurrencyAlgorithm::Aimd { latency_max_us: 200_000 });
    assert!(!aimd.is_too_long(std::time::Duration::from_millis(200)));
    assert!(aimd.is_too_long(std::time::Duration::from_millis(201)));
    // With the gradient, measurements determine what is too long.
    let gradient = rule(ConcurrencyAlgorithm::Gradient { tolerance_percent: 25 });
    assert!(!gradient.is_too_long(std::time::Duration::from_secs(9)));
}
