//! Tests that simulations find the same automatic weights as the proxy.

use weir_balance::{AVERAGE_WEIGHT, Algorithm, Hundredths, KnownSpeeds};
use weir_config::simulation::{BalancerPlan, FoundWeights, Group, Scenario};
use weir_model::{Millis, Weight};
use weir_sim::{Report, Run, run};

fn play(scenario: &Scenario, algorithm: Algorithm) -> Run {
    run(scenario, algorithm, scenario.seed, None, &mut |_| {}).unwrap()
}

/// Creates four servers, and four of half their speed, at 80% of their total capacity.
fn two_generations(known: [Option<KnownSpeeds>; 2]) -> Scenario {
    let group = |speed, auto_weight: Option<KnownSpeeds>| {
        let weight = if auto_weight.is_some() { Weight::new(AVERAGE_WEIGHT).unwrap() } else { Weight::ONE };
        Group { count: 4, concurrency: 4, speed, weight, auto_weight, ..Group::default() }
    };
    let auto_weight = FoundWeights { interval: Millis::from_secs(1), ..FoundWeights::default() };
    Scenario {
        requests: Some(80_000),
        warm_up: 30_000,
        groups: vec![group(2.0, known[0]), group(1.0, known[1])],
        balancer: BalancerPlan { auto_weight, ..BalancerPlan::default() },
        ..Scenario::default()
    }
}

fn nothing_known() -> Option<KnownSpeeds> {
    Some(KnownSpeeds::default())
}

#[test]
fn servers_of_twice_the_speed_are_found_to_weigh_twice_as_much() {
    for algorithm in [Algorithm::RoundRobin, Algorithm::Random] {
        let equal = play(&two_generations([None, None]), algorithm);
        assert!(equal.found_weights.is_empty());
        let found = play(&two_generations([nothing_known(), nothing_known()]), algorithm);
        let sum = |weights: &[u32]| f64::from(weights.iter().sum::<u32>());
        let ratio = sum(&found.found_weights[..4]) / sum(&found.found_weights[4..]);
        assert!((1.4..3.0).contains(&ratio), "{algorithm}: {:?}", found.found_weights);
        // With equal weights, round robin gives the slow servers more than they can handle. Random draws
        // compare how busy servers are.
        let (p99, p99_equal) = (found.quantile_s(0.99), equal.quantile_s(0.99));
        let most = if algorithm == Algorithm::RoundRobin { p99_equal / 2.0 } else { p99_equal };
        assert!(p99 < most, "{algorithm}: {p99} {p99_equal}");
    }
}

#[test]
fn servers_that_fetch_faster_weigh_more_the_more_there_is_to_fetch() {
    // The first four servers compute twice as fast as the others, which fetch twice as fast.
    let ratio = |static_share| {
        let mut scenario = two_generations([nothing_known(), nothing_known()]);
        scenario.static_share = static_share;
        (scenario.groups[0].static_speed, scenario.groups[1].static_speed) = (Some(1.0), Some(2.0));
        let weights = play(&scenario, Algorithm::RoundRobin).found_weights;
        let sum = |weights: &[u32]| f64::from(weights.iter().sum::<u32>());
        sum(&weights[..4]) / sum(&weights[4..])
    };
    let (none, half, most) = (ratio(0.0), ratio(0.5), ratio(0.9));
    assert!(none > 1.4 && most < 0.75, "{none} {half} {most}");
    assert!((0.8..1.25).contains(&half), "{half}");
}

#[test]
fn speeds_that_are_given_are_not_measured() {
    let given = |percent| Some(KnownSpeeds { processor: Some(Hundredths(percent)), storage: None });
    let scenario = two_generations([given(200), given(50)]);
    let run = play(&scenario, Algorithm::RoundRobin);
    assert_eq!(run.found_weights, [32, 32, 32, 32, 8, 8, 8, 8]);
    let report = Report::new(&scenario, &[(Algorithm::RoundRobin, vec![run])]).unwrap();
    let told: Vec<f64> = report.algorithms[0].found_weights.iter().map(|weight| weight.mean).collect();
    assert_eq!((told[0], told[7]), (32.0, 8.0));
}

#[test]
fn weights_that_are_found_are_the_same_each_time() {
    let scenario = two_generations([nothing_known(), nothing_known()]);
    assert_eq!(play(&scenario, Algorithm::RoundRobin), play(&scenario, Algorithm::RoundRobin));
}
