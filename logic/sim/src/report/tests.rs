//! Tests of reports: ranking, recommendation and page.

use weir_balance::Algorithm;
use weir_config::simulation::{Measure, Scenario};

use super::*;

/// Creates a run in which every request took `ms` milliseconds.
fn run(ms: u64, errors: u64) -> Run {
    let mut run = Run { measured: 1000, utilisation: vec![0.5, 0.7], ..Run::default() };
    run.latency.record_many(ms * 1000, 1000 - errors);
    run.latency_sum_ns = u128::from(ms) * 1_000_000 * u128::from(1000 - errors);
    run.errors.refused = errors;
    run
}

fn report(results: &[(Algorithm, &[(u64, u64)])]) -> Report {
    let runs = |runs: &[(u64, u64)]| runs.iter().map(|(ms, errors)| run(*ms, *errors)).collect();
    let results: Vec<(Algorithm, Vec<Run>)> =
        results.iter().map(|(algorithm, of)| (*algorithm, runs(of))).collect();
    let scenario = Scenario { rank_by: Measure::Mean, warm_up: 0, ..Scenario::default() };
    Report::new(&scenario, &results).unwrap()
}

#[test]
fn the_lowest_latency_wins_and_the_difference_is_told() {
    let report = report(&[
        (Algorithm::RoundRobin, &[(200, 0), (220, 0), (210, 0)]),
        (Algorithm::LeastConnections, &[(100, 0), (112, 0), (106, 0)]),
        (Algorithm::Random, &[(120, 0), (131, 0), (125, 0)]),
    ]);
    let order: Vec<_> = report.algorithms.iter().map(|one| (one.rank, one.algorithm.name())).collect();
    assert_eq!(order, [(1, "least-connections"), (2, "random"), (3, "round-robin")]);
    assert_eq!(
        report.recommendation.text,
        [
            "least-connections wins: mean 106ms.",
            "The next, random, has 18% more (95% sure: 17% to 20% more); that is beyond noise.",
            "The last, round-robin, has 98% more (95% sure: 89% to 107% more); that is beyond noise.",
            "least-connections, the default, is a good choice here.",
        ]
    );
}

#[test]
fn what_seeds_do_not_tell_apart_is_told_to_be_as_good() {
    let report = report(&[
        (Algorithm::Random, &[(100, 0), (140, 0), (120, 0)]),
        (Algorithm::LeastConnections, &[(130, 0), (111, 0), (125, 0)]),
    ]);
    assert_eq!(report.recommendation.ties, [Algorithm::LeastConnections]);
    assert!(report.recommendation.text[0].contains("within noise"), "{:?}", report.recommendation.text);
    assert!(report.recommendation.text[1].contains("the default, is a good choice"));
}

#[test]
fn errors_outweigh_latency() {
    let report = report(&[
        (Algorithm::Ring, &[(50, 30), (52, 30)]),
        (Algorithm::LeastConnections, &[(100, 0), (110, 0)]),
    ]);
    assert_eq!(report.recommendation.winner, Algorithm::LeastConnections);
    assert!(report.recommendation.behind[0].fails);
    assert!(report.recommendation.text[1].contains("leaves more requests without an answer"));
    assert_eq!(report.notes, ["Requests that were not answered: ring 3.00%."]);
}

#[test]
fn one_seed_says_nothing_of_noise() {
    let report = report(&[(Algorithm::Ring, &[(50, 0)]), (Algorithm::Random, &[(100, 0)])]);
    assert_eq!(report.recommendation.behind[0].is_beyond_noise, None);
    assert_eq!(
        report.recommendation.text,
        [
            "ring wins: mean 50ms.",
            "The next, random, has 100% more.",
            "One seed cannot tell a difference from noise: use more (--seeds).",
        ]
    );
}

#[test]
fn a_run_without_a_measured_request_is_an_error() {
    let scenario = Scenario { warm_up: 7, ..Scenario::default() };
    let error = Report::new(&scenario, &[(Algorithm::Ring, vec![Run::default()])]).unwrap_err();
    assert_eq!(error, "nothing was measured: fewer requests came than the 7 of the warm-up");
}

#[test]
fn the_page_has_margins_for_more_than_latencies() {
    let runs = [(5, 10), (6, 30)].map(|(ms, errors)| Run {
        utilisation: vec![0.1 * ms as f64, 0.7],
        queue_mean: ms as f64,
        queue_max: 10 * ms,
        ..run(ms, errors)
    });
    let page = html(&Report::new(&Scenario::default(), &[(Algorithm::Ring, runs.to_vec())]).unwrap());
    let row = page.lines().find(|line| line.starts_with("<tr class=\"row0\"")).unwrap();
    // Five latencies; the least, mean and most in use; imbalance; waiting and its maximum; errors.
    assert_eq!(row.matches("&plusmn;").count(), 12, "{row}");
    let one = html(&Report::new(&Scenario::default(), &[(Algorithm::Ring, vec![run(5, 1)])]).unwrap());
    let row = one.lines().find(|line| line.starts_with("<tr class=\"row0\"")).unwrap();
    assert!(!row.contains("&plusmn;"), "{row}");
}

#[test]
fn the_page_stands_alone_and_a_name_is_no_markup() {
    let mut scenario = Scenario::default();
    scenario.groups[0].name = "<script>alert(1)</script>".to_owned();
    let runs = vec![run(5, 0), run(6, 0)];
    let page = html(&Report::new(&scenario, &[(Algorithm::Ring, runs)]).unwrap());
    assert!(page.contains("&lt;script&gt;") && !page.contains("<script"));
    assert!(
        !page.contains("http:") && !page.contains("https:") && !page.contains("url(h"),
        "nothing is fetched"
    );
    assert_eq!(page.matches("<svg").count(), page.matches("</svg>").count());
}
