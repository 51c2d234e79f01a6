//! Tests of properties of simulations other than the figures.

use std::io::{self, BufReader, Read};

use weir_balance::{Algorithm, Scheduling, ZoneRule};
use weir_config::simulation::{
    Arrivals, BalancerPlan, CachePlan, Disturbance, Failure, Group, LogFormat, LoggedTimes, Pattern,
    PoolRules, Population, Replay, Scenario, Service, ServiceLaw, SimKey, SimTime, SlowDown, Volume,
};
use weir_model::Weight;
use weir_sim::{Report, Run, html, run};

const SECOND: u64 = 1_000_000_000;

fn play(scenario: &Scenario, algorithm: Algorithm) -> Run {
    run(scenario, algorithm, scenario.seed, None, &mut |_| {}).unwrap()
}

fn small() -> Scenario {
    Scenario { requests: Some(20_000), warm_up: 2_000, ..Scenario::default() }
}

fn report(scenario: &Scenario) -> Report {
    let seeds = 0..u64::from(scenario.seeds);
    let runs = |algorithm: Algorithm| {
        seeds
            .clone()
            .map(|seed| run(scenario, algorithm, scenario.seed + seed, None, &mut |_| {}).unwrap())
            .collect()
    };
    let results: Vec<(Algorithm, Vec<Run>)> =
        scenario.algorithms.iter().map(|algorithm| (*algorithm, runs(*algorithm))).collect();
    Report::new(scenario, &results).unwrap()
}

#[test]
fn the_same_seed_gives_the_same_bytes_and_another_seed_others() {
    let scenario = Scenario { seeds: 2, ..small() };
    let text = |scenario: &Scenario| {
        let report = report(scenario);
        format!("{}{}", serde_json::to_string(&report).unwrap(), html(&report))
    };
    assert_eq!(text(&scenario), text(&scenario));
    assert_ne!(text(&scenario), text(&Scenario { seed: 2, ..scenario.clone() }));
}

#[test]
fn every_algorithm_is_simulated_without_a_scenario() {
    let report = report(&Scenario { requests: Some(2_000), warm_up: 100, seeds: 1, ..Scenario::default() });
    let mut names: Vec<_> = report.algorithms.iter().map(|algorithm| algorithm.algorithm.name()).collect();
    let mut all = Algorithm::ALL.map(Algorithm::name).to_vec();
    names.sort_unstable();
    all.sort_unstable();
    assert_eq!(names, all);
}

#[test]
fn memory_is_that_of_the_requests_in_flight_however_many_come() {
    let peaks = |requests| {
        let run = play(&Scenario { requests: Some(requests), ..small() }, Algorithm::LeastConnections);
        (run.in_flight_max, run.events_max)
    };
    let (few, many) = (peaks(10_000), peaks(1_000_000));
    assert!(many.0 < 200 && many.1 < 200, "{many:?}");
    assert!(many.0 < few.0 * 4, "{few:?} {many:?}");
}

#[test]
fn shared_servers_do_not_fill_the_heap_with_void_events() {
    let group =
        Group { sharing: weir_config::simulation::Sharing::Shared, concurrency: 4, ..Group::default() };
    let run = play(&Scenario { requests: Some(300_000), groups: vec![group], ..small() }, Algorithm::Random);
    assert!(run.events_max < 1_000, "{}", run.events_max);
}

/// Creates a scenario in which half of the servers have twice the weight of the others.
fn two_weights(law: ServiceLaw) -> Scenario {
    let group = |weight: u32| Group {
        count: 4,
        weight: Weight::new(weight).unwrap(),
        concurrency: 4,
        ..Group::default()
    };
    let service = Service { law, mean: SimTime(10_000_000) };
    let arrivals = Arrivals::Drawn { pattern: Pattern::Poisson, volume: Volume::Load(0.3) };
    Scenario { groups: vec![group(1), group(2)], service, arrivals, ..small() }
}

#[test]
fn least_bandwidth_goes_by_the_sizes_of_requests() {
    let by_size = ServiceLaw::BySize {
        base: SimTime(1_000_000),
        bandwidth: 100_000_000,
        size: 900_000,
        deviation: 1.0,
    };
    let run = play(&two_weights(by_size), Algorithm::LeastBandwidth);
    let (light, heavy): (f64, f64) = (run.utilisation[..4].iter().sum(), run.utilisation[4..].iter().sum());
    assert!((1.8..2.2).contains(&(heavy / light)), "{heavy} {light}");
    assert!(run.bytes > 0);
}

#[test]
fn without_sizes_it_is_told_that_least_bandwidth_takes_turns() {
    let told = |scenario: Scenario| {
        let algorithms = vec![Algorithm::LeastBandwidth, Algorithm::RoundRobin];
        let report = report(&Scenario { algorithms, seeds: 1, ..scenario });
        report.notes.iter().any(|note| note.contains("nothing says how large requests are"))
    };
    assert!(told(two_weights(ServiceLaw::Exponential)));
    let by_size =
        ServiceLaw::BySize { base: SimTime(0), bandwidth: 100_000_000, size: 1_000_000, deviation: 0.0 };
    assert!(!told(two_weights(by_size)));
}

#[test]
fn a_pools_options_tiers_and_zone_hold_in_its_simulation() {
    let mut scenario = Scenario { groups: vec![Group { count: 4, ..Group::default() }; 2], ..small() };
    scenario.arrivals = Arrivals::Drawn { pattern: Pattern::Poisson, volume: Volume::Load(0.2) };
    scenario.groups[1].priority = 1;
    let idle = |run: &Run| run.utilisation[4..].iter().all(|used| *used == 0.0);
    assert!(idle(&play(&scenario, Algorithm::RoundRobin)), "the second tier stands by");
    scenario.groups[1].priority = 0;
    scenario.groups[1].is_remote = true;
    assert!(!idle(&play(&scenario, Algorithm::RoundRobin)), "zones do not count of themselves");
    scenario.pool.membership.zones = Some(ZoneRule { stay_percent: 70 });
    assert!(idle(&play(&scenario, Algorithm::RoundRobin)));

    let drawing = |draws: u8| {
        let mut own = Scheduling::from(Algorithm::Random);
        own.measure.draws = draws;
        let pool = PoolRules { scheduling: Some(own), ..PoolRules::default() };
        Scenario { pool, ..small() }
    };
    let p99 = |draws: u8| play(&drawing(draws), Algorithm::Random).quantile_s(0.99);
    assert!(p99(1) > 1.5 * p99(2), "one draw is no choice");
    let other = play(&drawing(1), Algorithm::LeastRequest);
    assert_eq!(other, play(&small(), Algorithm::LeastRequest), "another algorithm has its defaults");
}

#[test]
fn the_report_for_programs_has_every_servers_utilisation() {
    let report = report(&Scenario { algorithms: vec![Algorithm::RoundRobin], seeds: 2, ..small() });
    let json = serde_json::to_value(&report).unwrap();
    let servers = json["algorithms"][0]["server_utilisation"].as_array().unwrap();
    assert_eq!(servers.len(), 10);
    assert!(servers.iter().all(|used| (0.6..1.0).contains(&used["mean"].as_f64().unwrap())), "{servers:?}");
}

#[test]
fn the_report_for_programs_has_intervals_over_seeds_for_every_figure() {
    let mut scenario = disturbed(Disturbance::Fail(at(10, 30)));
    scenario.algorithms = vec![Algorithm::RoundRobin];
    for seeds in [1, 4] {
        let json = serde_json::to_value(report(&Scenario { seeds, ..scenario.clone() })).unwrap();
        let algorithm = &json["algorithms"][0];
        let figures = [
            &algorithm["error_share"],
            &algorithm["utilisation"]["min"],
            &algorithm["utilisation"]["mean"],
            &algorithm["utilisation"]["max"],
            &algorithm["imbalance"],
            &algorithm["queue_mean"],
            &algorithm["queue_peak"],
            &algorithm["moved_share"],
            &algorithm["server_utilisation"][3],
        ];
        for (at, figure) in figures.into_iter().enumerate() {
            let [low, mean, high] = ["low", "mean", "high"].map(|part| figure[part].as_f64());
            match seeds {
                1 => assert_eq!((low, high), (None, None), "figure {at}: {figure}"),
                _ => assert!(low < mean && mean < high, "figure {at}: {figure}"),
            }
        }
    }
}

fn disturbed(disturbance: Disturbance) -> Scenario {
    let group = Group { count: 4, disturbances: vec![disturbance], ..Group::default() };
    // Four servers of 100/s each, with 240/s for a minute.
    let arrivals = Arrivals::Drawn { pattern: Pattern::Poisson, volume: Volume::PerSecond(240.0) };
    Scenario { requests: Some(14_400), warm_up: 0, groups: vec![group], arrivals, ..Scenario::default() }
}

fn at(seconds: u64, lasts: u64) -> Failure {
    Failure { at: SimTime(seconds * SECOND), lasts: SimTime(lasts * SECOND), servers: 1 }
}

#[test]
fn a_dead_server_loses_what_it_had_and_gets_nothing_more_once_that_is_known() {
    let mut scenario = disturbed(Disturbance::Fail(at(10, 30)));
    let retried = play(&scenario, Algorithm::RoundRobin);
    assert!((1..20).contains(&retried.errors.broken), "{:?}", retried.errors);
    assert_eq!(retried.errors.refused, 0, "other servers take what it refuses");
    // The server is dead for 30 s, and for 4 s more the balancer does not know that it is back, out of a
    // minute. So it does less than half of the others' work.
    assert!(retried.utilisation[0] < retried.utilisation[1] * 0.6, "{:?}", retried.utilisation);

    scenario.balancer.retries = 0;
    let refused = play(&scenario, Algorithm::RoundRobin).errors.refused;
    // A quarter of 240/s for the 6 s until the balancer knows.
    assert!((250..450).contains(&refused), "{refused}");
    scenario.balancer.down_after = SimTime(SECOND);
    assert!(play(&scenario, Algorithm::RoundRobin).errors.refused < refused / 3);
}

#[test]
fn overlapping_failures_end_with_the_last() {
    let group = Group {
        count: 1,
        disturbances: vec![Disturbance::Fail(at(5, 10)), Disturbance::Fail(at(10, 20))],
        ..Group::default()
    };
    let scenario = Scenario { groups: vec![group], ..disturbed(Disturbance::Fail(at(1, 1))) };
    let run = play(&scenario, Algorithm::LeastConnections);
    // Down from 5 s to 30 s, eligible again at 34 s, of 60 s.
    assert!((0.42..0.58).contains(&(run.errors.total() as f64 / run.measured as f64)), "{:?}", run.errors);
}

#[test]
fn all_servers_dead_is_an_error_for_everybody() {
    let group = Group {
        disturbances: vec![Disturbance::Fail(Failure { servers: 10, ..at(0, 1_000_000) })],
        ..Group::default()
    };
    let run = play(&Scenario { groups: vec![group], ..small() }, Algorithm::Maglev);
    assert_eq!((run.latency.count(), run.errors.refused), (0, run.measured));
}

#[test]
fn a_slow_server_is_noticed_by_those_who_count_and_not_by_those_who_take_turns() {
    let scenario = disturbed(Disturbance::Slow(SlowDown { span: at(10, 40), speed: 0.1 }));
    let calm = Scenario { groups: vec![Group { count: 4, ..Group::default() }], ..scenario.clone() };
    let p99 = |scenario: &Scenario, algorithm| play(scenario, algorithm).quantile_s(0.99);
    let (blind, seeing) =
        (p99(&scenario, Algorithm::RoundRobin), p99(&scenario, Algorithm::LeastConnections));
    assert!(blind > 20.0 * p99(&calm, Algorithm::RoundRobin), "{blind}");
    assert!(seeing < blind / 10.0, "{seeing} {blind}");
}

#[test]
fn requests_wait_in_the_balancer_for_a_server_below_its_limit_and_not_for_ever() {
    let group = Group { count: 2, connections_max: Some(1), ..Group::default() };
    let arrivals = Arrivals::Drawn { pattern: Pattern::Poisson, volume: Volume::Load(1.5) };
    let balancer = BalancerPlan { queue: SimTime(SECOND / 10), ..BalancerPlan::default() };
    let scenario = Scenario { groups: vec![group], arrivals, balancer, ..small() };
    let run = play(&scenario, Algorithm::LeastConnections);
    let share = run.errors.total() as f64 / run.measured as f64;
    assert!((0.25..0.42).contains(&share), "a third is too much for them: {share}");
    assert!(run.quantile_s(0.5) > 0.05 && run.utilisation[0] > 0.95);

    let impatient =
        Scenario { balancer: BalancerPlan { queue: SimTime(0), ..scenario.balancer.clone() }, ..scenario };
    let run = play(&impatient, Algorithm::LeastConnections);
    assert_eq!(run.queue_max, 0);
    assert!(run.quantile_s(0.999) < 0.1);
}

#[test]
fn caches_are_hit_more_often_where_clients_who_want_the_same_come_to_the_same_server() {
    let group = Group { cache: Some(CachePlan { uris: 100, speed_up: 10.0 }), ..Group::default() };
    let uris = Population { count: 1_000, zipf: 1.0 };
    let scenario = Scenario { groups: vec![group], uris, ..small() };
    let run = play(&scenario, Algorithm::RoundRobin);
    let (hits, asked) = run.cache.unwrap();
    assert_eq!(asked, run.measured);
    let share = hits as f64 / asked as f64;
    assert!((0.5..0.7).contains(&share), "the hundred most wanted of a thousand, or nearly: {share}");
    // 60% of the requests are ten times as fast.
    assert!(run.utilisation[0] < 0.8 * 0.6, "{:?}", run.utilisation);
}

#[test]
fn requests_are_kept_together_by_what_they_bring_besides_where_that_is_the_key() {
    let busy = |key, count| {
        let balancer = BalancerPlan { key, ..BalancerPlan::default() };
        let values = Some(Population { count, zipf: 0.0 });
        let run = play(&Scenario { values, balancer, ..small() }, Algorithm::Rendezvous);
        run.utilisation.iter().filter(|share| **share > 0.0).count()
    };
    assert_eq!(busy(SimKey::Value, 1), 1);
    assert_eq!(busy(SimKey::Value, 1_000), 10);
    assert_eq!(busy(SimKey::Client, 1), 10);
}

#[test]
fn what_is_asked_for_stays_at_one_server_where_the_uri_decides() {
    let group = Group { cache: Some(CachePlan { uris: 100, speed_up: 2.0 }), ..Group::default() };
    let uris = Population { count: 1_000, zipf: 0.5 };
    let hits = |key, algorithm| {
        let balancer = BalancerPlan { key, ..BalancerPlan::default() };
        let run = play(&Scenario { groups: vec![group.clone()], uris, balancer, ..small() }, algorithm);
        let (hits, asked) = run.cache.unwrap();
        hits as f64 / asked as f64
    };
    // Together, ten servers cache all thousand URIs, if each gets only its own.
    for algorithm in [Algorithm::Hash, Algorithm::Maglev, Algorithm::Rendezvous] {
        assert!(hits(SimKey::Uri, algorithm) > 0.75, "{algorithm}");
        assert!(hits(SimKey::Client, algorithm) < 0.4, "{algorithm}");
    }
    // Lblc moves keys whose server is too busy.
    let (by_uri, by_client) = (hits(SimKey::Uri, Algorithm::Lblc), hits(SimKey::Client, Algorithm::Lblc));
    assert!(by_uri > by_client + 0.1, "{by_uri} {by_client}");
    assert_eq!(hits(SimKey::Auto, Algorithm::Lblc), hits(SimKey::Uri, Algorithm::Lblc));
    assert_eq!(hits(SimKey::Auto, Algorithm::Hash), hits(SimKey::Client, Algorithm::Hash));
    assert_eq!(
        hits(SimKey::Uri, Algorithm::Source),
        hits(SimKey::Client, Algorithm::Source),
        "an address only"
    );
}

#[test]
fn clients_stay_where_their_address_decides() {
    let scenario = Scenario { clients: Population { count: 500, zipf: 0.0 }, ..small() };
    assert_eq!(play(&scenario, Algorithm::Maglev).moved_share, Some(0.0));
    assert!(play(&scenario, Algorithm::RoundRobin).moved_share.unwrap() > 0.99);
    let group = Group { disturbances: vec![Disturbance::Fail(at(5, 10))], ..Group::default() };
    let ring = play(&Scenario { groups: vec![group], ..scenario }, Algorithm::Ring).moved_share.unwrap();
    assert!(ring > 0.0 && ring < 0.2, "those who were moved away come back when they need not: {ring}");
}

#[test]
fn workers_who_take_turns_by_themselves_spread_less_evenly_than_one() {
    let of = |workers| {
        let balancer = BalancerPlan { workers, ..BalancerPlan::default() };
        play(&Scenario { balancer, requests: Some(200_000), ..small() }, Algorithm::RoundRobin).mean_s()
    };
    assert!(of(8) > of(1) * 1.05);
}

/// A log of requests that arrive every 20 ms and took 5 ms, generated when it is read.
struct EndlessLog {
    lines: u64,
    next: u64,
    left: Vec<u8>,
}

impl Read for EndlessLog {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left.is_empty() && self.next <= self.lines {
            self.left = match self.next {
                0 => b"arrival_s,service_ms,client\n".to_vec(),
                line => format!("{}.{:02},5,10.0.0.{}\n", line / 50, line % 50 * 2, line % 100).into_bytes(),
            };
            self.next += 1;
        }
        let bytes = self.left.len().min(buffer.len());
        buffer[..bytes].copy_from_slice(&self.left[..bytes]);
        self.left.drain(..bytes);
        Ok(bytes)
    }
}

fn replay(requests: Option<u64>) -> Scenario {
    let replay =
        Replay { file: "log".into(), format: LogFormat::Auto, speed: 1.0, times: LoggedTimes::Logged };
    Scenario { requests, warm_up: 0, arrivals: Arrivals::Replay(replay), ..Scenario::default() }
}

#[test]
fn a_replayed_log_is_read_as_it_goes_and_its_times_are_those_of_the_log() {
    let mut log = BufReader::new(EndlessLog { lines: 200_000, next: 0, left: Vec::new() });
    let run = run(&replay(None), Algorithm::RoundRobin, 1, Some(&mut log), &mut |_| {}).unwrap();
    assert_eq!(run.measured, 200_000);
    assert!((run.span_s - 199_999.0 / 50.0).abs() < 1e-6, "{}", run.span_s);
    assert!((run.mean_s() - 0.005).abs() < 1e-6, "nobody waits: {}", run.mean_s());
    assert!((run.utilisation[0] - 0.025).abs() < 1e-4, "{:?}", run.utilisation);
    assert_eq!(run.in_flight_max, 1);
}

#[test]
fn a_replay_ends_after_so_many_requests_if_the_log_is_longer() {
    let mut log = BufReader::new(EndlessLog { lines: u64::MAX, next: 0, left: Vec::new() });
    let run = run(&replay(Some(1_000)), Algorithm::Ring, 1, Some(&mut log), &mut |_| {}).unwrap();
    assert_eq!(run.measured, 1_000);
}

#[test]
fn a_bad_line_ends_the_run_with_its_number_and_cause() {
    let mut log = "arrival_s\n1\nx\n".as_bytes();
    let error = run(&replay(None), Algorithm::Ring, 1, Some(&mut log), &mut |_| {}).unwrap_err();
    assert_eq!(error.to_string(), "line 3: \"x\" is no number");
}

#[test]
fn progress_is_told() {
    let mut told = Vec::new();
    run(&Scenario { requests: Some(40_000), ..small() }, Algorithm::First, 1, None, &mut |done| {
        told.push(done)
    })
    .unwrap();
    assert_eq!(told, [16_384, 32_768, 40_000]);
}
