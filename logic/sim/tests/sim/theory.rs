//! Compares the simulator with results of queueing theory.

use weir_balance::Algorithm;
use weir_config::simulation::{
    Arrivals, Group, Pattern, Scenario, Service, ServiceLaw, Sharing, SimTime, Volume,
};
use weir_sim::{Run, run};

/// Mean service time of every scenario in this file: 10 ms.
const MEAN: SimTime = SimTime(10_000_000);

fn scenario(requests: u64, load: f64, law: ServiceLaw, group: Group) -> Scenario {
    Scenario {
        requests: Some(requests),
        warm_up: requests / 10,
        arrivals: Arrivals::Drawn { pattern: Pattern::Poisson, volume: Volume::Load(load) },
        service: Service { law, mean: MEAN },
        groups: vec![group],
        ..Scenario::default()
    }
}

fn play(scenario: &Scenario, algorithm: Algorithm, seed: u64) -> Run {
    run(scenario, algorithm, seed, None, &mut |_| {}).unwrap()
}

/// Returns the mean of several seeds, which reduces the random error.
fn mean_latency_s(scenario: &Scenario, algorithm: Algorithm, seeds: u64) -> f64 {
    (1..=seeds).map(|seed| play(scenario, algorithm, seed).mean_s()).sum::<f64>() / seeds as f64
}

/// Returns the quick cases, and with the feature `long` also the slow ones.
fn cases<T: Copy>(quick: &[T], slow: &[T]) -> Vec<T> {
    [quick, if cfg!(feature = "long") { slow } else { &[] }].concat()
}

fn one(slots: u32) -> Group {
    Group { count: 1, concurrency: slots, ..Group::default() }
}

#[track_caller]
fn assert_within(got: f64, expected: f64, share: f64) {
    assert!((got / expected - 1.0).abs() < share, "{got} is not within {}% of {expected}", share * 100.0);
}

/// Returns the probability that a request finds all `slots` busy; `load` is that of one slot (Erlang C).
fn erlang_c(slots: u32, load: f64) -> f64 {
    let offered = load * f64::from(slots);
    // Computes Erlang B by its recursion, and then C from B.
    let blocked = (1..=slots).fold(1.0, |b, n| offered * b / (f64::from(n) + offered * b));
    blocked / (1.0 - load * (1.0 - blocked))
}

#[test]
fn one_exponential_server_waits_as_m_m_1_does() {
    // At a higher load, successive waits are more alike, so more of them are needed.
    for (load, seeds) in cases(&[(0.3, 2), (0.5, 3), (0.7, 3)], &[(0.9, 12)]) {
        let scenario = scenario(1_000_000, load, ServiceLaw::Exponential, one(1));
        let wait = mean_latency_s(&scenario, Algorithm::RoundRobin, seeds) - MEAN.seconds();
        assert_within(wait, MEAN.seconds() * load / (1.0 - load), 0.02);
    }
}

#[test]
fn its_queue_obeys_littles_law_and_its_utilisation_is_the_load() {
    let load = 0.7;
    let run = play(&scenario(1_000_000, load, ServiceLaw::Exponential, one(1)), Algorithm::First, 3);
    assert_within(run.utilisation[0], load, 0.01);
    assert_within(run.queue_mean, load * load / (1.0 - load), 0.03);
    // P(latency > t) = exp(-t (1 - load) / mean): the 99th percentile.
    assert_within(run.quantile_s(0.99), MEAN.seconds() / (1.0 - load) * 100_f64.ln(), 0.03);
}

#[test]
fn a_server_with_slots_waits_as_erlang_c_says() {
    for (slots, load, seeds) in cases(&[(2, 0.5, 3), (4, 0.8, 4)], &[(16, 0.9, 8), (64, 0.95, 12)]) {
        let scenario = scenario(1_000_000, load, ServiceLaw::Exponential, one(slots));
        let wait = mean_latency_s(&scenario, Algorithm::LeastConnections, seeds) - MEAN.seconds();
        let expected = erlang_c(slots, load) * MEAN.seconds() / (f64::from(slots) * (1.0 - load));
        assert_within(wait, expected, 0.02);
    }
}

#[test]
fn equal_work_waits_half_as_long_as_exponential_work() {
    for (load, seeds) in cases(&[(0.3, 2), (0.5, 3), (0.8, 4)], &[(0.9, 8)]) {
        let scenario = scenario(1_000_000, load, ServiceLaw::Deterministic, one(1));
        let wait = mean_latency_s(&scenario, Algorithm::RoundRobin, seeds) - MEAN.seconds();
        assert_within(wait, MEAN.seconds() * load / (2.0 * (1.0 - load)), 0.02);
    }
}

#[test]
fn variable_work_waits_as_pollaczek_and_khinchine_say() {
    let (load, deviation) = (0.6, 1.5);
    let scenario = scenario(2_000_000, load, ServiceLaw::Lognormal { deviation }, one(1));
    let wait = mean_latency_s(&scenario, Algorithm::RoundRobin, 2) - MEAN.seconds();
    let expected = MEAN.seconds() * load / (1.0 - load) * (1.0 + deviation * deviation) / 2.0;
    assert_within(wait, expected, 0.02);
}

#[test]
fn a_shared_processor_does_not_mind_how_variable_work_is() {
    let load = 0.7;
    let shared = || Group { sharing: Sharing::Shared, ..one(1) };
    let expected = MEAN.seconds() / (1.0 - load);
    for law in [ServiceLaw::Exponential, ServiceLaw::Lognormal { deviation: 2.0 }, ServiceLaw::Deterministic]
    {
        let scenario = scenario(1_000_000, load, law, shared());
        assert_within(mean_latency_s(&scenario, Algorithm::RoundRobin, 2), expected, 0.02);
    }
}

#[test]
fn a_fast_server_is_a_slow_one_in_shorter_time() {
    let load = 0.5;
    let scenario = scenario(500_000, load, ServiceLaw::Exponential, Group { speed: 4.0, ..one(1) });
    assert_within(
        mean_latency_s(&scenario, Algorithm::RoundRobin, 2),
        MEAN.seconds() / 4.0 / (1.0 - load),
        0.02,
    );
}

/// Returns the mean response time of the power of two choices among very many servers, in service times
/// (Mitzenmacher 1996, Vvedenskaya et al. 1996).
///
/// By Little's law it is the mean number of requests at a server over the load. The share of servers with at
/// least i requests is load^(2^i - 1).
fn two_choices_response(load: f64) -> f64 {
    (1..60).map(|i| load.powf(2_f64.powi(i) - 1.0)).sum::<f64>() / load
}

#[test]
fn two_choices_answer_as_fast_as_theory_says() {
    const SEEDS: u64 = 3;
    for (count, load) in
        cases(&[1_000], &[2_000]).into_iter().flat_map(|count| [0.5, 0.7, 0.8, 0.9].map(|load| (count, load)))
    {
        let servers = Group { count, ..Group::default() };
        let scenario = scenario(1_000_000, load, ServiceLaw::Exponential, servers);
        let runs: Vec<Run> = (1..=SEEDS).map(|seed| play(&scenario, Algorithm::Random, seed)).collect();
        let mean = |figure: &dyn Fn(&Run) -> f64| runs.iter().map(figure).sum::<f64>() / SEEDS as f64;
        let mean_s = mean(&Run::mean_s);
        assert_within(mean_s, MEAN.seconds() * two_choices_response(load), 0.02);
        for i in 1.. {
            let expected = load.powf(2_f64.powi(i) - 1.0);
            // The theory assumes infinitely many servers. With n servers, the share of a level that few of
            // them reach is off by some n-ths, which is much for a handful of servers.
            if expected < 0.01 {
                break;
            }
            let tolerance = if expected < 0.05 { 40.0 / f64::from(count) } else { 0.02 };
            let share = mean(&|run| run.crowd.get(i as usize - 1).copied().unwrap_or(0.0));
            assert_within(share, expected, tolerance);
        }
    }
}

#[test]
fn round_robin_lies_between_random_splitting_and_least_connections() {
    let scenario = scenario(300_000, 0.8, ServiceLaw::Exponential, Group::default());
    let mean = |algorithm| mean_latency_s(&scenario, algorithm, 2);
    // Hashing of many clients splits at random: each server is an M/M/1 queue, or nearly.
    let (split, round_robin, least) =
        (mean(Algorithm::Ring), mean(Algorithm::RoundRobin), mean(Algorithm::LeastConnections));
    assert!(split > round_robin * 1.1 && round_robin > least * 1.1, "{split} {round_robin} {least}");
    assert!(split > MEAN.seconds() / (1.0 - 0.8) * 0.9, "{split}");
}
