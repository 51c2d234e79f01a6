//! Tests of the beginning of a report: winners, doubts, and the description of the play.

use weir_config::lab::Measure;

use super::super::{Analysis, Standing, report};
use super::{analysis, overall, results, torn_apart};

#[test]
fn no_difference_is_claimed_that_is_not_larger_than_the_noise() {
    // Half of the runs are slower by a tenth or more, in mixed order.
    let noisy = |ratio: f64| {
        let mut all = results(ratio);
        for run in &mut all.runs {
            run.calibration_ns = 1_000_000 + u64::from(run.place % 4) * 200_000;
        }
        Analysis::of(all).unwrap()
    };
    assert_eq!(overall(&analysis(0.9), Measure::Mean), Standing::Better);
    let near = noisy(0.9);
    assert!(near.noise.floor() > 0.1, "{:?}", near.noise);
    assert_ne!(overall(&near, Measure::Mean), Standing::Better);
    assert!(near.margin_of(Measure::Mean) > 0.1 && near.margin_of(Measure::Memory) < 0.06);
    assert_eq!(overall(&noisy(0.7), Measure::Mean), Standing::Better);
}

#[test]
fn a_grid_says_who_wins_what_by_how_much() {
    let markdown = report::markdown(&analysis(0.8));
    let row = markdown.lines().find(|line| line.starts_with("| weir / haproxy |")).unwrap();
    assert!(
        row.starts_with(
            "| weir / haproxy | weir: 20% less (20% to 20% less) | weir: 25% more (25% to 25% more) |"
        ),
        "{row}"
    );
    let head = markdown.find("| over all cases | Mean latency, ms | Answers a second |").unwrap();
    assert!(head < markdown.find("Noise: ").unwrap(), "{markdown}");
    let alike = report::markdown(&analysis(1.0));
    assert!(alike.contains("| weir / haproxy | the same within 5% | the same within 5% |"), "{alike}");
    let unsure = report::markdown(&Analysis::of(torn_apart()).unwrap());
    assert!(unsure.contains("| weir / haproxy | undecided (may be chance) |"), "{unsure}");
}

#[test]
fn what_is_said_is_listed_by_figure() {
    let said = report::verdict_by_figure(&analysis(0.8));
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!((lines.len(), lines[0], lines[2]), (4, "Mean latency, ms", "Answers a second"), "{said}");
    assert!(
        lines[1].starts_with("  - weir has 0.80 (0.80 to 0.80) of haproxy's (16 pairs of runs"),
        "{said}"
    );
}

#[test]
fn each_case_is_described() {
    let markdown = report::markdown(&analysis(0.8));
    let head = "| case | asks for | servers | concurrency | requests | connections | links |";
    assert!(markdown.contains(head), "{markdown}");
    for row in [
        "| a | GET /bytes/1024, 1 KiB | 3 test servers | 1 connection, closed loop | for 10s | kept | loopback |",
        "| b, c | GET /bytes/1024, 1 KiB | 3 test servers | 2 connections, closed loop |",
    ] {
        assert!(markdown.contains(row), "{row} in\n{markdown}");
    }
}
