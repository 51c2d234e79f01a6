//! Tests that operators' actions and the circuit breaker have the same effects as in the proxy.

use weir_balance::{Algorithm, Hundredths, SlowStart};
use weir_config::simulation::{
    AgentWord, Arrivals, BalancerPlan, Disturbance, Drain, Failure, Group, Pattern, Population, Scenario,
    SimTime, StickySessions, Volume,
};
use weir_health::BreakerRule;
use weir_model::Millis;
use weir_sim::{Run, run};

const SECOND: u64 = 1_000_000_000;

fn play(scenario: &Scenario, algorithm: Algorithm) -> Run {
    run(scenario, algorithm, scenario.seed, None, &mut |_| {}).unwrap()
}

/// Creates 240 requests per second from 500 clients for a minute, at four servers of 100/s each.
fn minute(disturbances: Vec<Disturbance>, balancer: BalancerPlan) -> Scenario {
    Scenario {
        requests: Some(14_400),
        warm_up: 0,
        groups: vec![Group { count: 4, disturbances, ..Group::default() }],
        arrivals: Arrivals::Drawn { pattern: Pattern::Poisson, volume: Volume::PerSecond(240.0) },
        clients: Population { count: 500, zipf: 0.0 },
        balancer,
        ..Scenario::default()
    }
}

fn span(from_s: u64, to_s: u64, servers: u32) -> Failure {
    Failure { at: SimTime(from_s * SECOND), lasts: SimTime((to_s - from_s) * SECOND), servers }
}

fn drain(from_s: u64, to_s: u64) -> Disturbance {
    Disturbance::Drain(Drain { span: span(from_s, to_s, 1), is_maintenance: false })
}

fn maintenance(from_s: u64, to_s: u64) -> Disturbance {
    Disturbance::Drain(Drain { span: span(from_s, to_s, 1), is_maintenance: true })
}

#[test]
fn a_drained_server_gets_nothing_new_and_loses_nothing() {
    for algorithm in [Algorithm::RoundRobin, Algorithm::LeastConnections, Algorithm::Random, Algorithm::Ring]
    {
        let calm = play(&minute(vec![], BalancerPlan::default()), algorithm).utilisation[0];
        for out in [drain(10, 30), maintenance(10, 30)] {
            let run = play(&minute(vec![out], BalancerPlan::default()), algorithm);
            assert_eq!(run.errors.total(), 0, "{algorithm}: {:?}", run.errors);
            // The server has nothing to do for a third of the time.
            assert!(run.utilisation[0] < 0.8 * calm, "{algorithm}: {} {calm}", run.utilisation[0]);
            assert!(run.utilisation[0] > 0.5 * calm, "{algorithm}: it comes back: {}", run.utilisation[0]);
        }
    }
}

#[test]
fn clients_stay_with_a_server_that_drains_and_leave_one_in_maintenance() {
    let bound = || BalancerPlan { sticky: Some(StickySessions::default()), ..BalancerPlan::default() };
    let stays = play(&minute(vec![drain(20, 50)], bound()), Algorithm::RoundRobin);
    assert_eq!(stays.moved_share, Some(0.0));
    assert!(stays.utilisation[0] > 0.8 * stays.utilisation[1], "{:?}", stays.utilisation);
    let leaves = play(&minute(vec![maintenance(20, 50)], bound()), Algorithm::RoundRobin);
    let moved = leaves.moved_share.unwrap();
    assert!((0.2..0.3).contains(&moved), "a quarter of them: {moved}");
    assert!(leaves.utilisation[0] < 0.6 * leaves.utilisation[1], "{:?}", leaves.utilisation);
    assert_eq!(leaves.errors.total() + stays.errors.total(), 0);
}

/// Creates a scenario with reports of the first of four servers' agents.
fn said(words: &[(u64, &str)], balancer: BalancerPlan) -> Scenario {
    let word = |(at_s, says): &(u64, &str)| AgentWord {
        at: SimTime(at_s * SECOND),
        servers: 1,
        says: (*says).to_owned(),
    };
    let mut scenario = minute(vec![], balancer);
    scenario.groups[0].agent = words.iter().map(word).collect();
    scenario
}

#[test]
fn an_agent_takes_a_part_of_its_servers_weight_and_gives_it_back() {
    for algorithm in [Algorithm::RoundRobin, Algorithm::Random, Algorithm::Ring] {
        let used = |words: &[(u64, &str)]| {
            let run = play(&said(words, BalancerPlan::default()), algorithm);
            assert_eq!(run.errors.total(), 0, "{algorithm}");
            run.utilisation[0]
        };
        let whole = used(&[]);
        assert!(used(&[(0, "25%")]) < 0.6 * whole, "{algorithm}");
        let half_the_time = used(&[(0, "25%"), (30, "100%")]);
        assert!((0.5..0.9).contains(&(half_the_time / whole)), "{algorithm}: {half_the_time} {whole}");
        assert!(used(&[(0, "drain"), (30, "50%")]) == 0.0, "{algorithm}: nothing has taken that back");
        assert!(used(&[(0, "down"), (30, "up")]) > 0.3 * whole, "{algorithm}");
        assert!(used(&[(0, "0%")]) == 0.0, "{algorithm}");
    }
    // A fraction of a weight would move most keys in a weighted map, so it does not count.
    let used =
        |words: &[(u64, &str)]| play(&said(words, BalancerPlan::default()), Algorithm::Hash).utilisation;
    assert_eq!(used(&[(0, "25%")]), used(&[]));
}

#[test]
fn an_agent_limits_its_server_and_keeps_or_sends_away_its_clients() {
    let run = play(&said(&[(0, "maxconn:1")], BalancerPlan::default()), Algorithm::RoundRobin);
    let free = play(&said(&[], BalancerPlan::default()), Algorithm::RoundRobin);
    assert!(run.utilisation[0] < free.utilisation[0], "who is busy loses its turn");
    let bound = || BalancerPlan { sticky: Some(StickySessions::default()), ..BalancerPlan::default() };
    let moved = |says| play(&said(&[(20, says)], bound()), Algorithm::RoundRobin).moved_share.unwrap();
    assert_eq!(moved("drain"), 0.0);
    assert!((0.2..0.3).contains(&moved("maint")) && (0.2..0.3).contains(&moved("down")));
}

#[test]
fn drains_that_overlap_hold_until_the_last_one_ends() {
    let used = |drains| play(&minute(drains, BalancerPlan::default()), Algorithm::RoundRobin).utilisation[0];
    let (one, two) = (used(vec![drain(10, 40)]), used(vec![drain(10, 20), drain(15, 40)]));
    assert!((one / two - 1.0).abs() < 0.05, "{one} {two}");
}

#[test]
fn a_server_that_was_drained_starts_slowly_again() {
    let slow_start = SlowStart { window: Millis::from_secs(30), aggression: Hundredths(100), min_percent: 1 };
    let slowly = BalancerPlan { slow_start: Some(slow_start), ..BalancerPlan::default() };
    for out in [drain(10, 20), maintenance(10, 20)] {
        let used = |balancer| play(&minute(vec![out], balancer), Algorithm::RoundRobin).utilisation[0];
        let (at_once, rising) = (used(BalancerPlan::default()), used(slowly.clone()));
        assert!(rising < 0.85 * at_once, "{rising} {at_once}");
    }
}

fn breaking() -> BalancerPlan {
    let rule = BreakerRule {
        error_percent: 50,
        requests_min: 20,
        window: Millis::from_secs(10),
        open: Millis::from_secs(5),
        probes: 3,
    };
    // The checks find nothing.
    BalancerPlan { breaker: Some(rule), down_after: SimTime::MAX, retries: 0, ..BalancerPlan::default() }
}

#[test]
fn an_open_breaker_keeps_requests_away_and_closes_when_servers_are_back() {
    let outage = vec![Disturbance::Fail(span(10, 30, 4))];
    let without =
        play(&minute(outage.clone(), BalancerPlan { breaker: None, ..breaking() }), Algorithm::RoundRobin);
    // 240/s for 20 s.
    assert!((4_300..5_300).contains(&without.errors.refused), "{:?}", without.errors);
    assert_eq!(without.errors.breaker, 0);
    let run = play(&minute(outage, breaking()), Algorithm::RoundRobin);
    assert!((5..150).contains(&run.errors.refused), "those that open it, and probes: {:?}", run.errors);
    // Until the outage is over, and for at most five seconds more.
    assert!((4_300..6_500).contains(&run.errors.breaker), "{:?}", run.errors);
    assert_eq!(
        run.errors.total(),
        run.errors.refused + run.errors.broken + run.errors.breaker + run.errors.timed_out
    );
    assert_eq!(run.latency.count() + run.errors.total(), run.measured);
}

#[test]
fn a_breaker_stays_closed_while_other_servers_answer_and_while_there_is_just_no_room() {
    let retried = BalancerPlan { retries: 2, ..breaking() };
    let run = play(&minute(vec![Disturbance::Fail(span(10, 30, 1))], retried), Algorithm::RoundRobin);
    assert_eq!((run.errors.breaker, run.errors.refused), (0, 0), "{:?}", run.errors);
    let mut crowded = minute(vec![], BalancerPlan { queue: SimTime(SECOND / 10), ..breaking() });
    crowded.groups[0].count = 2;
    crowded.groups[0].connections_max = Some(1);
    let run = play(&crowded, Algorithm::LeastConnections);
    assert!(run.errors.total() > 500, "{:?}", run.errors);
    assert_eq!(run.errors.breaker, 0, "{:?}", run.errors);
}

#[test]
fn drains_and_a_breaker_are_the_same_each_time() {
    let disturbances =
        vec![drain(5, 15), maintenance(12, 20), Disturbance::Fail(span(25, 35, 4)), drain(33, 40)];
    let sticky = Some(StickySessions::default());
    let scenario = minute(disturbances, BalancerPlan { workers: 3, sticky, ..breaking() });
    for algorithm in Algorithm::ALL {
        assert_eq!(play(&scenario, algorithm), play(&scenario, algorithm), "{algorithm}");
    }
}
