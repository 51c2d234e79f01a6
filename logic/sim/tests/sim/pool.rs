//! Tests that a pool's other features work as in the proxy: sticky clients, queues and rejections, slow
//! start, adaptive limits and ejections.

use weir_balance::{Algorithm, ConcurrencyAlgorithm, ConcurrencyRule, Hundredths, Scheduling, SlowStart};
use weir_config::plan::{WhenBusy, WhenGone};
use weir_config::simulation::{
    Arrivals, BalancerPlan, Disturbance, Failure, Group, Pattern, PoolRules, Population, Scenario, SimTime,
    StickySessions, Volume,
};
use weir_health::EjectionRule;
use weir_model::Millis;
use weir_sim::{Run, run};

const SECOND: u64 = 1_000_000_000;

fn play(scenario: &Scenario, algorithm: Algorithm) -> Run {
    run(scenario, algorithm, scenario.seed, None, &mut |_| {}).unwrap()
}

fn poisson(volume: Volume) -> Arrivals {
    Arrivals::Drawn { pattern: Pattern::Poisson, volume }
}

/// Creates 240 requests per second from 500 clients for a minute, at servers of 100/s each.
fn minute(groups: Vec<Group>) -> Scenario {
    Scenario {
        requests: Some(14_400),
        warm_up: 0,
        groups,
        arrivals: poisson(Volume::PerSecond(240.0)),
        clients: Population { count: 500, zipf: 0.0 },
        ..Scenario::default()
    }
}

/// Creates four servers, the first of which dies in the 10th second.
fn one_dies(lasts_s: u64) -> Vec<Group> {
    let fail = Failure { at: SimTime(10 * SECOND), lasts: SimTime(lasts_s * SECOND), servers: 1 };
    vec![Group { count: 4, disturbances: vec![Disturbance::Fail(fail)], ..Group::default() }]
}

fn sticky(sticky: StickySessions) -> BalancerPlan {
    BalancerPlan { sticky: Some(sticky), ..BalancerPlan::default() }
}

#[test]
fn of_clients_that_stay_with_their_servers_only_those_move_whose_server_dies() {
    let loose = minute(one_dies(20));
    let bound = Scenario { balancer: sticky(StickySessions::default()), ..loose.clone() };
    for algorithm in [Algorithm::RoundRobin, Algorithm::LeastConnections, Algorithm::Random] {
        assert!(play(&loose, algorithm).moved_share.unwrap() > 0.99, "{algorithm}");
        let run = play(&bound, algorithm);
        // A quarter of the clients move, and they do not return when their server is back.
        let moved = run.moved_share.unwrap();
        assert!((0.2..0.3).contains(&moved), "{algorithm}: {moved}");
        assert_eq!(run.errors.refused, 0, "{algorithm}");
        assert!(run.utilisation[0] < run.utilisation[1] / 2.0, "{algorithm}: {:?}", run.utilisation);
    }
    let calm = Scenario { groups: vec![Group { count: 4, ..Group::default() }], ..bound };
    assert_eq!(play(&calm, Algorithm::RoundRobin).moved_share, Some(0.0));
}

#[test]
fn clients_whose_server_is_gone_are_refused_where_the_rule_says_so() {
    let rules = StickySessions { when_gone: WhenGone::Fail, ..StickySessions::default() };
    let run = play(&Scenario { balancer: sticky(rules), ..minute(one_dies(20)) }, Algorithm::RoundRobin);
    assert_eq!(run.moved_share, Some(0.0));
    // A quarter of 240/s for the 20 s, and for the 4 s until the balancer knows that the server is back.
    assert!((1_200..1_700).contains(&run.errors.refused), "{:?}", run.errors);
}

#[test]
fn a_client_waits_for_its_busy_server_or_leaves_it_as_the_rule_says() {
    let groups = vec![Group { count: 4, connections_max: Some(1), ..Group::default() }];
    let of = |when_busy| {
        let rules = StickySessions { when_busy, ..StickySessions::default() };
        play(&Scenario { balancer: sticky(rules), ..minute(groups.clone()) }, Algorithm::LeastConnections)
    };
    let (waits, leaves) = (of(WhenBusy::Wait), of(WhenBusy::Redispatch));
    assert_eq!(waits.moved_share, Some(0.0));
    assert!(leaves.moved_share.unwrap() > 0.5, "{:?}", leaves.moved_share);
    // With waiting, each server has its own queue.
    assert!(waits.mean_s() > leaves.mean_s() * 1.3, "{} {}", waits.mean_s(), leaves.mean_s());
}

#[test]
fn sessions_that_are_forgotten_are_broken_ones() {
    let groups = vec![Group { count: 4, ..Group::default() }];
    let moved = |rules| {
        let scenario = Scenario { balancer: sticky(rules), ..minute(groups.clone()) };
        play(&scenario, Algorithm::RoundRobin).moved_share.unwrap()
    };
    assert!(moved(StickySessions { size: 50, ..StickySessions::default() }) > 0.9);
    // Each client sends a request every two seconds.
    assert!(moved(StickySessions { expire: SimTime(SECOND), ..StickySessions::default() }) > 0.9);
    assert!(moved(StickySessions { expire: SimTime(600 * SECOND), ..StickySessions::default() }) == 0.0);
    let lives = |seconds| {
        moved(StickySessions { life_max: Some(SimTime(seconds * SECOND)), ..StickySessions::default() })
    };
    assert!(lives(5) > 0.9 && lives(600) == 0.0, "{} {}", lives(5), lives(600));
}

#[test]
fn a_client_leaves_its_server_when_as_many_wait_for_that_as_may() {
    let groups = vec![Group { count: 4, connections_max: Some(1), ..Group::default() }];
    let of = |server_queue_max, when_gone| {
        let rules = StickySessions { when_gone, ..StickySessions::default() };
        let balancer = BalancerPlan { server_queue_max, ..sticky(rules) };
        play(&Scenario { balancer, ..minute(groups.clone()) }, Algorithm::LeastConnections)
    };
    let (any, one) = (of(None, WhenGone::Redispatch), of(Some(1), WhenGone::Redispatch));
    assert_eq!(any.moved_share, Some(0.0));
    // If no client may leave its server, requests are refused.
    let faithful = of(Some(1), WhenGone::Fail);
    assert_eq!((one.errors.queue_full, faithful.moved_share), (0, Some(0.0)));
    assert!(faithful.errors.queue_full > 0, "{:?}", faithful.errors);
    assert!(one.moved_share > Some(0.1), "{:?}", one.moved_share);
    assert!(one.mean_s() < any.mean_s(), "{} {}", one.mean_s(), any.mean_s());
}

fn slowly(seconds: u64) -> BalancerPlan {
    let slow_start =
        SlowStart { window: Millis::from_secs(seconds), aggression: Hundredths(100), min_percent: 1 };
    BalancerPlan { slow_start: Some(slow_start), ..BalancerPlan::default() }
}

#[test]
fn a_server_that_comes_back_starts_slowly() {
    for algorithm in [Algorithm::RoundRobin, Algorithm::Random, Algorithm::Ring] {
        let at_once = play(&minute(one_dies(10)), algorithm).utilisation[0];
        let scenario = Scenario { balancer: slowly(30), ..minute(one_dies(10)) };
        let slowly = play(&scenario, algorithm).utilisation[0];
        assert!(slowly < 0.85 * at_once, "{algorithm}: {slowly} {at_once}");
    }
    // A fraction of a weight would move most keys in a weighted map, so it does not count.
    let scenario = Scenario { balancer: slowly(30), ..minute(one_dies(10)) };
    let used = |scenario| play(&scenario, Algorithm::Hash).utilisation;
    assert_eq!(used(scenario), used(minute(one_dies(10))));
}

#[test]
fn a_server_that_is_added_gets_nothing_before_and_starts_slowly_then() {
    let added = Group { count: 1, added: SimTime(30 * SECOND), ..Group::default() };
    let groups = vec![Group { count: 3, ..Group::default() }, added];
    let used = |balancer| {
        let scenario = Scenario { balancer, ..minute(groups.clone()) };
        play(&scenario, Algorithm::RoundRobin).utilisation[3]
    };
    // A quarter of 240/s is three fifths of its capacity, for half of the time.
    let at_once = used(BalancerPlan::default());
    assert!((0.26..0.34).contains(&at_once), "{at_once}");
    let rising = used(slowly(30));
    assert!(rising < 0.75 * at_once, "{rising} {at_once}");
}

#[test]
fn keys_go_to_an_added_server_when_it_comes_and_to_nobody_for_its_sake_before() {
    let three = vec![Group { count: 3, ..Group::default() }];
    let added = Group { count: 1, added: SimTime(3_600 * SECOND), ..Group::default() };
    let with_one_more = [three.clone(), vec![added]].concat();
    for algorithm in [Algorithm::Ring, Algorithm::Ketama, Algorithm::Maglev, Algorithm::NginxHash] {
        let (without, before) =
            (play(&minute(three.clone()), algorithm), play(&minute(with_one_more.clone()), algorithm));
        assert_eq!(without.utilisation, before.utilisation[..3], "{algorithm}");
    }
}

#[test]
fn a_key_that_waits_for_its_own_server_holds_up_nobody_else() {
    let of = |connections_max, fallback| {
        let mut scheduling = Scheduling::from(Algorithm::Ring);
        scheduling.hash.fallback = fallback;
        let groups = vec![Group { count: 4, connections_max, ..Group::default() }];
        let balancer = BalancerPlan { queue: SimTime(600 * SECOND), ..BalancerPlan::default() };
        let pool = PoolRules { scheduling: Some(scheduling), ..PoolRules::default() };
        play(&Scenario { pool, balancer, ..minute(groups) }, Algorithm::Ring)
    };
    // It makes no difference whether requests wait at the server or in the balancer.
    let (there, here, elsewhere) = (of(None, true), of(Some(1), false), of(Some(1), true));
    assert!((there.mean_s() - here.mean_s()).abs() < 1e-6, "{} {}", there.mean_s(), here.mean_s());
    assert!(elsewhere.mean_s() < 0.9 * here.mean_s(), "{} {}", elsewhere.mean_s(), here.mean_s());
    assert_eq!((here.errors.total(), here.moved_share), (0, Some(0.0)));
}

#[test]
fn no_more_wait_for_one_server_than_may_and_others_go_elsewhere() {
    let of = |algorithm: Algorithm, server_queue_max| {
        let mut scheduling = Scheduling::from(algorithm);
        scheduling.hash.fallback = false;
        let groups = vec![Group { count: 4, connections_max: Some(1), ..Group::default() }];
        let queue = SimTime(600 * SECOND);
        let balancer = BalancerPlan { queue, server_queue_max, ..BalancerPlan::default() };
        let pool = PoolRules { scheduling: Some(scheduling), ..PoolRules::default() };
        play(&Scenario { pool, balancer, ..minute(groups) }, algorithm)
    };
    let (any, one) = (of(Algorithm::Ring, None), of(Algorithm::Ring, Some(1)));
    assert!(one.mean_s() < 0.9 * any.mean_s(), "{} {}", one.mean_s(), any.mean_s());
    assert_eq!(one.errors.total(), 0);
    assert!(one.moved_share > Some(0.0), "{:?}", one.moved_share);
    // The kernel's hash knows no other server.
    let (kernels, refused) = (of(Algorithm::IpvsSh, None), of(Algorithm::IpvsSh, Some(1)));
    assert_eq!((kernels.errors.queue_full, refused.moved_share), (0, Some(0.0)));
    assert!(refused.errors.queue_full > 0, "{:?}", refused.errors);
}

/// Creates a load of 1.5 times the capacity of two servers, which take one request each.
fn too_much(balancer: BalancerPlan) -> Scenario {
    Scenario {
        requests: Some(20_000),
        warm_up: 2_000,
        groups: vec![Group { count: 2, connections_max: Some(1), ..Group::default() }],
        arrivals: poisson(Volume::Load(1.5)),
        balancer: BalancerPlan { queue: SimTime(SECOND / 10), ..balancer },
        ..Scenario::default()
    }
}

#[test]
fn who_would_wait_in_vain_is_turned_away_at_once() {
    let run = play(&too_much(BalancerPlan::default()), Algorithm::LeastConnections);
    let share = run.errors.total() as f64 / run.measured as f64;
    assert!((0.25..0.42).contains(&share), "a third is too much for them: {share}");
    assert!(run.errors.hopeless > run.errors.timed_out, "{:?}", run.errors);
    assert_eq!((run.errors.queue_full, run.errors.refused), (0, 0));
    // No request waits longer than the queue permits, so the queue stays short.
    assert!(run.queue_max < 60, "{}", run.queue_max);
}

#[test]
fn no_more_wait_than_may() {
    let balancer = BalancerPlan { queue_length_max: Some(5), ..BalancerPlan::default() };
    let run = play(&too_much(balancer), Algorithm::LeastConnections);
    assert_eq!(run.queue_max, 5);
    assert!(run.errors.queue_full > run.measured / 5, "{:?}", run.errors);
}

#[test]
fn where_clients_take_turns_one_who_floods_waits_behind_all_others() {
    // The first client sends five of six requests.
    let clients = Population { count: 1_000, zipf: 3.0 };
    let fast = |is_fair| {
        let scenario = Scenario { clients, ..too_much(BalancerPlan { is_fair, ..BalancerPlan::default() }) };
        play(&scenario, Algorithm::LeastConnections).quantile_s(0.1)
    };
    let (fair, unfair) = (fast(true), fast(false));
    assert!(fair < 0.6 * unfair, "{fair} {unfair}");
}

#[test]
fn all_servers_together_get_no_more_than_the_pool_may_have() {
    let balancer = BalancerPlan { connections_max: Some(3), ..BalancerPlan::default() };
    let scenario = Scenario { balancer, requests: Some(20_000), warm_up: 2_000, ..Scenario::default() };
    for algorithm in [Algorithm::LeastConnections, Algorithm::Random] {
        let used: f64 = play(&scenario, algorithm).utilisation.iter().sum();
        // Two servers that are drawn may both be busy while another is not.
        assert!((2.8..3.000_1).contains(&used), "{algorithm}: {used}");
    }
}

#[test]
fn a_limit_that_is_found_keeps_requests_out_of_a_servers_own_queue() {
    let rule = ConcurrencyRule {
        algorithm: ConcurrencyAlgorithm::Aimd { latency_max_us: 40_000 },
        min: 1,
        max: 1_000,
    };
    let scenario = |concurrency| Scenario {
        requests: Some(40_000),
        warm_up: 10_000,
        groups: vec![Group { count: 2, concurrency: 4, ..Group::default() }],
        arrivals: poisson(Volume::Load(1.3)),
        balancer: BalancerPlan { queue: SimTime(SECOND / 20), concurrency, ..BalancerPlan::default() },
        ..Scenario::default()
    };
    let p95 = |concurrency| play(&scenario(concurrency), Algorithm::LeastConnections).quantile_s(0.95);
    let (free, limited) = (p95(None), p95(Some(rule)));
    assert!(limited < 0.3 && free > 5.0 * limited, "{limited} {free}");
}

fn ejecting(probes: u32) -> BalancerPlan {
    let ejection = EjectionRule {
        consecutive_failures: 5,
        error_percent: 50,
        requests_min: 50,
        window: Millis::from_secs(10),
        base_time: Millis::from_secs(5),
        time_max: Millis::from_secs(300),
        share_max_percent: 50,
        probes,
    };
    // Without ejection, the balancer never notices that a server is dead or back.
    BalancerPlan { ejection: Some(ejection), down_after: SimTime::MAX, retries: 0, ..BalancerPlan::default() }
}

#[test]
fn a_server_that_refuses_requests_is_ejected_and_comes_back_when_it_serves_again() {
    let blind = BalancerPlan { ejection: None, ..ejecting(3) };
    let refused = |balancer| {
        let run = play(&Scenario { balancer, ..minute(one_dies(20)) }, Algorithm::RoundRobin);
        (run.errors.refused, run.utilisation[0])
    };
    // A quarter of 240/s for 20 s.
    let (all, _) = refused(blind);
    assert!((1_100..1_300).contains(&all), "{all}");
    for probes in [0, 3] {
        let (few, used) = refused(ejecting(probes));
        // Five failures at first; then as many, or one probe, at each further attempt.
        assert!((1..60).contains(&few), "{probes} probes: {few}");
        // The server is dead for 20 s and ejected for some seconds more.
        assert!((0.2..0.42).contains(&used), "{probes} probes: {used}");
    }
}

#[test]
fn no_more_servers_are_ejected_than_may_be() {
    let mut groups = one_dies(20);
    groups[0].disturbances = vec![Disturbance::Fail(Failure {
        at: SimTime(10 * SECOND),
        lasts: SimTime(1_000 * SECOND),
        servers: 3,
    })];
    let run = play(&Scenario { balancer: ejecting(3), ..minute(groups) }, Algorithm::RoundRobin);
    // At most half of the servers are ejected. So of three dead servers the third still refuses: every other
    // request of two servers.
    let share = run.errors.refused as f64 / run.measured as f64;
    assert!((0.3..0.5).contains(&share), "{share}");
}

#[test]
fn everything_at_once_is_the_same_each_time() {
    let balancer = BalancerPlan {
        workers: 3,
        is_fair: true,
        queue_length_max: Some(100),
        connections_max: Some(12),
        sticky: Some(StickySessions { size: 300, ..StickySessions::default() }),
        ejection: ejecting(2).ejection,
        ..slowly(20)
    };
    let mut groups = one_dies(15);
    groups[0].connections_max = Some(4);
    groups.push(Group { count: 2, added: SimTime(20 * SECOND), ..Group::default() });
    let scenario = Scenario { balancer, clients: Population { count: 500, zipf: 1.0 }, ..minute(groups) };
    for algorithm in Algorithm::ALL {
        assert_eq!(play(&scenario, algorithm), play(&scenario, algorithm), "{algorithm}");
    }
}
