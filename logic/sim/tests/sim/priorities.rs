//! Tests that requests with a priority wait as in the proxy, and that results are separate for each priority.

use weir_balance::Algorithm;
use weir_config::simulation::{
    Arrivals, BalancerPlan, Group, Pattern, PriorityShare, Scenario, SimTime, Volume,
};
use weir_sim::{PriorityRun, Report, Run, run};

fn play(scenario: &Scenario) -> Run {
    run(scenario, Algorithm::LeastConnections, scenario.seed, None, &mut |_| {}).unwrap()
}

fn part(share: f64, class: i16, offset_ms: i32) -> PriorityShare {
    PriorityShare { share, class, offset_ms }
}

/// Creates a load of 1.5 times the capacity of two servers, which take one request each.
fn too_much(priorities: Vec<PriorityShare>) -> Scenario {
    Scenario {
        requests: Some(20_000),
        warm_up: 2_000,
        groups: vec![Group { count: 2, connections_max: Some(1), ..Group::default() }],
        arrivals: Arrivals::Drawn { pattern: Pattern::Poisson, volume: Volume::Load(1.5) },
        balancer: BalancerPlan { queue: SimTime(100_000_000), ..BalancerPlan::default() },
        priorities,
        ..Scenario::default()
    }
}

fn failed(of: &PriorityRun) -> f64 {
    of.failed as f64 / of.measured as f64
}

fn median_us(of: &PriorityRun) -> u64 {
    of.latency.quantile(0.5).unwrap()
}

#[test]
fn who_has_a_lower_class_is_served_first_and_who_has_a_higher_one_gets_what_is_left() {
    let run = play(&too_much(vec![part(0.1, -5, 0), part(0.3, 7, 0)]));
    let [others, first, last] = run.priorities.as_slice() else { panic!("{:?}", run.priorities.len()) };
    let share = |of: &PriorityRun| of.measured as f64 / run.measured as f64;
    assert!((share(first) - 0.1).abs() < 0.02 && (share(last) - 0.3).abs() < 0.02);
    assert!(failed(first) < 0.02, "{}", failed(first));
    assert!(failed(last) > 0.7 && failed(others) < 0.3, "{} {}", failed(last), failed(others));
    assert!(median_us(first) * 3 < median_us(others) * 2, "{} {}", median_us(first), median_us(others));
    assert_eq!(run.priorities.iter().map(|of| of.measured).sum::<u64>(), run.measured);
    assert_eq!(run.priorities.iter().map(|of| of.failed).sum::<u64>(), run.errors.total());
    assert_eq!(run.priorities.iter().map(|of| of.latency.count()).sum::<u64>(), run.latency.count());
}

#[test]
fn within_a_class_an_offset_counts_as_having_come_earlier() {
    let run = play(&too_much(vec![part(0.1, 0, -1_000)]));
    let [others, earlier] = run.priorities.as_slice() else { panic!("{:?}", run.priorities.len()) };
    assert!(median_us(earlier) * 2 < median_us(others), "{} {}", median_us(earlier), median_us(others));
}

#[test]
fn priorities_change_nothing_of_what_comes_and_nothing_where_nobody_waits() {
    let calm = |priorities| {
        let groups = vec![Group { count: 4, ..Group::default() }];
        play(&Scenario { groups, ..too_much(priorities) })
    };
    let (with, without) = (calm(vec![part(0.5, 3, 0)]), calm(vec![]));
    assert!(without.priorities.is_empty() && with.priorities.len() == 2);
    assert_eq!(Run { priorities: vec![], ..with }, without);
}

#[test]
fn a_report_has_each_priority_of_each_algorithm() {
    let scenario = too_much(vec![part(0.1, -5, 0)]);
    let report =
        Report::new(&scenario, &[(Algorithm::LeastConnections, vec![play(&scenario), play(&scenario)])])
            .unwrap();
    let [others, first] = report.algorithms[0].priorities.as_slice() else { panic!("not two") };
    assert_eq!((others.class, first.class), (0, -5));
    assert!(first.p99_s.mean < others.p99_s.mean && first.error_share.mean < others.error_share.mean);
    assert!(report.description.contains(&"priorities: 10% of the requests have -5, the others 0".to_owned()));
    let page = weir_sim::html(&report);
    assert!(page.contains("<th>-5: p50, p99, errors</th>"), "{page}");
}
