//! Tests of ejection by real traffic.

use std::time::Duration;

use proptest::prelude::*;
use weir_health::{EjectionRule, EjectionState, PoolEjections, TrafficSample, Verdict};
use weir_model::Millis;

const TEN_SERVERS: PoolEjections = PoolEjections { ejected: 0, servers: 10, elsewhere: 0 };

fn rule() -> EjectionRule {
    EjectionRule {
        consecutive_failures: 5,
        error_percent: 50,
        requests_min: 20,
        window: Millis::from_secs(10),
        base_time: Millis::from_secs(30),
        time_max: Millis::from_secs(100),
        share_max_percent: 30,
        probes: 0,
    }
}

/// The same rule with probes, so that no server returns without them.
fn with_probes() -> EjectionRule {
    EjectionRule { probes: 3, ..rule() }
}

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// The counters of one server and its ejection state.
#[derive(Default)]
struct Server {
    state: EjectionState,
    sample: TrafficSample,
}

impl Server {
    fn succeed(&mut self, times: u64) {
        self.sample.requests_total += times;
        self.sample.consecutive_failures = 0;
    }

    fn fail(&mut self, times: u32) {
        self.sample.requests_total += u64::from(times);
        self.sample.failures_total += u64::from(times);
        self.sample.consecutive_failures += times;
    }

    fn judge(&mut self, now: u64) -> Verdict {
        self.judge_in(&rule(), now, TEN_SERVERS)
    }

    fn judge_in(&mut self, rule: &EjectionRule, now: u64, pool: PoolEjections) -> Verdict {
        self.state.judge(rule, secs(now), self.sample, pool)
    }

    /// Fails until the server is ejected, and returns the length of the ejection.
    fn get_ejected(&mut self, now: u64) -> Duration {
        self.fail(5);
        let verdict = self.judge(now);
        let until = self.state.ejected_until().unwrap_or_default();
        assert_eq!(verdict, Verdict::Eject { until });
        until.saturating_sub(secs(now))
    }
}

#[test]
fn failures_in_a_row_eject_and_one_success_between_them_prevents_it() {
    let mut server = Server::default();
    server.fail(4);
    assert_eq!(server.judge(1), Verdict::Stay);
    server.succeed(1);
    server.fail(4);
    assert_eq!(server.judge(2), Verdict::Stay);
    server.fail(1);
    assert_eq!(server.judge(3), Verdict::Eject { until: secs(33) });
    assert_eq!(server.state.ejected_until(), Some(secs(33)));
}

#[test]
fn failures_before_the_first_judgement_count() {
    let mut server = Server::default();
    server.fail(5);
    assert_eq!(server.judge(0), Verdict::Eject { until: secs(30) });
}

#[test]
fn a_server_returns_when_its_time_is_over_and_starts_with_a_clean_slate() {
    let mut server = Server::default();
    server.get_ejected(0);
    assert_eq!(server.judge(29), Verdict::Stay);
    server.fail(3);
    assert_eq!(server.judge(30), Verdict::Return);
    assert_eq!(server.state.ejected_until(), None);
    assert_eq!(server.judge(31), Verdict::Stay);
    server.fail(4);
    assert_eq!(server.judge(32), Verdict::Stay);
    server.fail(1);
    assert!(matches!(server.judge(33), Verdict::Eject { .. }));
}

#[test]
fn each_ejection_is_longer_up_to_the_cap_and_good_times_shorten_the_next() {
    let mut server = Server::default();
    assert_eq!(server.get_ejected(0), secs(30));
    assert_eq!(server.judge(30), Verdict::Return);
    assert_eq!(server.get_ejected(31), secs(60));
    assert_eq!(server.judge(91), Verdict::Return);
    assert_eq!(server.get_ejected(92), secs(90));
    assert_eq!(server.judge(182), Verdict::Return);
    assert_eq!(server.get_ejected(183), secs(100));
    assert_eq!(server.judge(283), Verdict::Return);

    // Two periods of 30 s without an ejection reduce the count by two of four.
    for now in 284..=343 {
        server.succeed(1);
        assert_eq!(server.judge(now), Verdict::Stay);
    }
    assert_eq!(server.get_ejected(344), secs(90));
}

#[test]
fn the_error_ratio_ejects_once_there_are_enough_requests() {
    let mut server = Server::default();
    assert_eq!(server.judge(0), Verdict::Stay);
    for _ in 0..9 {
        server.fail(1);
        server.succeed(1);
    }
    assert_eq!(server.judge(1), Verdict::Stay, "18 requests are too few");
    server.fail(1);
    server.succeed(1);
    assert!(matches!(server.judge(2), Verdict::Eject { .. }));
}

#[test]
fn the_error_ratio_forgets_what_is_older_than_its_window() {
    let mut server = Server::default();
    server.judge(0);
    for _ in 0..9 {
        server.fail(1);
        server.succeed(1);
    }
    for now in 1..=11 {
        assert_eq!(server.judge(now), Verdict::Stay);
    }
    server.fail(2);
    server.succeed(2);
    assert_eq!(server.judge(12), Verdict::Stay, "only 4 requests are recent");
}

#[test]
fn a_trigger_that_is_off_ejects_nobody() {
    let off = EjectionRule { consecutive_failures: 0, error_percent: 0, ..rule() };
    let mut server = Server::default();
    server.fail(1_000);
    assert_eq!(server.judge_in(&off, 1, TEN_SERVERS), Verdict::Stay);
}

#[test]
fn a_rule_that_is_switched_off_lets_ejected_servers_return() {
    let off = EjectionRule { consecutive_failures: 0, error_percent: 0, ..rule() };
    let mut server = Server::default();
    server.get_ejected(0);
    assert_eq!(server.judge_in(&off, 1, TEN_SERVERS), Verdict::Return);
}

#[test]
fn the_share_of_ejected_servers_is_kept() {
    let verdict = |ejected, servers| {
        let mut server = Server::default();
        server.fail(5);
        server.judge_in(&rule(), 1, PoolEjections { ejected, servers, elsewhere: 0 }) != Verdict::Stay
    };
    assert!(verdict(2, 10), "three of ten are 30 percent");
    assert!(!verdict(3, 10), "four of ten are more");
    assert!(verdict(0, 2), "one always may be");
    assert!(!verdict(1, 2), "but not the last");
    assert!(!verdict(0, 1), "nor the only one");
}

#[test]
fn the_last_server_of_a_tier_is_ejected_where_another_tier_can_take_over() {
    let verdict = |ejected, servers, elsewhere| {
        let mut server = Server::default();
        server.fail(5);
        server.judge_in(&rule(), 1, PoolEjections { ejected, servers, elsewhere }) != Verdict::Stay
    };
    assert!(verdict(0, 1, 1), "the only one");
    assert!(verdict(3, 4, 1), "the last one, whatever the share");
    assert!(!verdict(0, 1, 0), "the others are out, too");
}

#[test]
fn an_ejected_server_returns_early_when_no_other_is_left() {
    let mut server = Server::default();
    server.get_ejected(0);
    let alone = PoolEjections { ejected: 1, servers: 1, elsewhere: 1 };
    assert_eq!(server.judge_in(&with_probes(), 10, alone), Verdict::Stay, "the backup serves");
    let others_gone = PoolEjections { elsewhere: 0, ..alone };
    assert_eq!(server.judge_in(&with_probes(), 11, others_gone), Verdict::Probe);
}

proptest! {
    #[test]
    fn a_pool_is_never_left_empty_and_no_ejection_is_too_long(
        steps in prop::collection::vec((0_usize..6, 0_u32..8, any::<bool>(), 0_u64..20), 1..200),
        share_max_percent in 0_u8..=100,
    ) {
        let rule = EjectionRule { share_max_percent, ..rule() };
        let mut servers: Vec<Server> = (0..6).map(|_| Server::default()).collect();
        let mut now = 0;
        for (index, failures, success, passed) in steps {
            now += passed;
            let ejected = servers.iter().filter(|server| server.state.ejected_until().is_some()).count();
            let server = &mut servers[index];
            if success {
                server.succeed(3);
            }
            server.fail(failures);
            let pool = PoolEjections { ejected, servers: 6, elsewhere: 0 };
            if let Verdict::Eject { until } = server.judge_in(&rule, now, pool) {
                prop_assert!(until <= secs(now) + rule.time_max.duration());
                prop_assert!(until >= secs(now) + rule.base_time.duration());
                prop_assert!(ejected + 1 < 6);
                prop_assert!(ejected == 0 || (ejected + 1) * 100 <= 6 * usize::from(share_max_percent));
            }
        }
    }
}

#[test]
fn a_server_is_back_when_as_many_probes_as_wanted_have_succeeded() {
    let mut server = Server::default();
    server.get_ejected(0);
    assert_eq!(server.judge_in(&with_probes(), 30, TEN_SERVERS), Verdict::Probe);
    assert!(server.state.is_half_open() && server.state.ejected_until().is_none());
    server.sample.probes_passed = 2;
    assert_eq!(server.judge_in(&with_probes(), 31, TEN_SERVERS), Verdict::Stay);
    server.sample.probes_passed = 3;
    assert_eq!(server.judge_in(&with_probes(), 32, TEN_SERVERS), Verdict::Return);
    assert!(!server.state.is_half_open());
    assert_eq!(server.judge_in(&with_probes(), 33, TEN_SERVERS), Verdict::Stay);
}

#[test]
fn one_probe_that_fails_ejects_again_and_for_longer() {
    let mut server = Server::default();
    server.get_ejected(0);
    assert_eq!(server.judge_in(&with_probes(), 30, TEN_SERVERS), Verdict::Probe);
    server.sample.probes_passed = 2;
    // Failures of requests that were sent before the ejection do not count.
    server.fail(5);
    assert_eq!(server.judge_in(&with_probes(), 30, TEN_SERVERS), Verdict::Stay);
    server.sample.probes_failed = 1;
    assert_eq!(server.judge_in(&with_probes(), 31, TEN_SERVERS), Verdict::Eject { until: secs(31 + 60) });
}

#[test]
fn a_half_open_server_that_fails_is_kept_where_no_other_is_left() {
    let mut server = Server::default();
    server.get_ejected(0);
    assert_eq!(server.judge_in(&with_probes(), 30, TEN_SERVERS), Verdict::Probe);
    server.sample.probes_failed = 1;
    let alone = PoolEjections { ejected: 1, servers: 2, elsewhere: 0 };
    assert_eq!(server.judge_in(&with_probes(), 31, alone), Verdict::Return);
}

#[test]
fn a_rule_that_goes_ends_being_half_open() {
    for off in [rule(), EjectionRule { consecutive_failures: 0, error_percent: 0, ..with_probes() }] {
        let mut server = Server::default();
        server.get_ejected(0);
        assert_eq!(server.judge_in(&with_probes(), 30, TEN_SERVERS), Verdict::Probe);
        assert_eq!(server.judge_in(&off, 31, TEN_SERVERS), Verdict::Return);
    }
}
