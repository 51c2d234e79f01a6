//! Tests of analysis and reports with known results.

mod compared;
mod exported;
mod gate;
mod told;
mod twice;

use weir_config::lab::{self, Measure};
use weir_config::{Source, render};

use super::report;
use super::store::{Played, Results};
use super::{Analysis, Configured, RunFlaw, SHIPPED, Standing, compare};

const SCENARIO: &str = "
title = \"Known <results>\"
rivals = [\"none\", \"weir\", \"haproxy\"]
repeats = 8
judge = [\"mean\", \"rate\"]

[[test]]
name = \"a\"
connections = 1
size = \"1KiB\"

[[test]]
name = \"b, c\"
connections = 2
size = \"1KiB\"

[[published]]
test = \"a\"
measure = \"mean\"
values = { pound = 9.5 }
";

/// Returns results in which the means of `weir` are `ratio` times those of `haproxy`, with a little noise.
fn results(ratio: f64) -> Results {
    let mut results = Results::default();
    for (key, value) in
        [("scenario", SCENARIO), ("form", "full"), ("name", "known.toml"), ("topology", "loopback")]
    {
        results.meta.insert(key.to_owned(), value.to_owned());
    }
    for (place, (repeat, case, rival)) in (0..8_u32)
        .flat_map(|repeat| {
            ["a", "b, c"]
                .into_iter()
                .flat_map(move |case| ["none", "weir", "haproxy"].map(|rival| (repeat, case, rival)))
        })
        .enumerate()
    {
        let slow_minute = 1.0 + f64::from(repeat % 3) * 0.05;
        let noise = 1.0 + (place * 7 % 11) as f64 * 0.0004;
        let own = match rival {
            "weir" => ratio,
            "none" => 0.5,
            _ => 1.0,
        };
        let mean = 10.0 * own * slow_minute * noise;
        results.runs.push(Played {
            case: case.to_owned(),
            rival: rival.to_owned(),
            repeat,
            place: place as u32,
            figures: vec![(Measure::Mean, mean), (Measure::Rate, 1_000.0 / mean)],
            sent: 100,
            succeeded: 100,
            calibration_ns: 1_000_000 + place as u64,
            servers: vec![("s1".to_owned(), 50, 5_000), ("s2".to_owned(), 50, 5_000)],
            summary: "{\"moments\":[{\"at_s\":0,\"p50_us\":100},{\"at_s\":1,\"p50_us\":200}],\"reply_rates\":[80.0,100.0],\
                      \"connect_ms\":{\"deviation\":0.25},\"facts\":{\"sessions\":{\"median_ms\":7.5}},\
                      \"statuses\":[[200,99],[503,1]],\"faults\":[[\"reset, or so\",2]]}"
                .to_owned(),
            ..Played::default()
        });
    }
    for rival in ["weir", "haproxy"] {
        results.rivals.push(Configured {
            rival: rival.to_owned(),
            version: "1.0".to_owned(),
            config: format!("{rival} {{ a < b; }}\n"),
            ..Configured::default()
        });
    }
    results
}

fn analysis(ratio: f64) -> Analysis {
    Analysis::of(results(ratio)).unwrap()
}

fn overall(analysis: &Analysis, measure: Measure) -> Standing {
    let pair = analysis.pairs.iter().find(|pair| pair.case.is_none() && pair.measure == measure).unwrap();
    assert_eq!((pair.one.as_str(), pair.other.as_str()), ("weir", "haproxy"));
    pair.standing()
}

#[test]
fn what_is_better_is_said_to_be_so_and_no_balancer_is_compared_with_none() {
    let faster = analysis(0.8);
    assert_eq!(
        (overall(&faster, Measure::Mean), overall(&faster, Measure::Rate)),
        (Standing::Better, Standing::Better)
    );
    assert_eq!(overall(&analysis(1.3), Measure::Mean), Standing::Worse);
    assert!(faster.pairs.iter().all(|pair| pair.one != "none" && pair.other != "none"));
    let said = report::verdict(&faster);
    assert_eq!(said.len(), 2, "{said:?}");
    let ratio = |said: &str| said.split(' ').nth(2).and_then(|word| word.parse::<f64>().ok()).unwrap();
    assert!(said[0].starts_with("weir has ") && (ratio(&said[0]) - 0.8).abs() < 0.01, "{said:?}");
    let said = report::verdict(&analysis(1.3));
    assert!(said[0].starts_with("haproxy has ") && (ratio(&said[0]) - 0.769).abs() < 0.01, "{said:?}");
}

/// Returns results in which half of the turns of `weir` are much slower than those of `haproxy`, and half
/// much faster.
fn torn_apart() -> Results {
    let mut all = results(1.0);
    for run in all.runs.iter_mut().filter(|run| run.rival == "weir") {
        let factor = if run.repeat % 2 == 0 { 1.3 } else { 0.8 };
        run.figures.iter_mut().for_each(|(_, value)| *value *= factor);
    }
    all
}

#[test]
fn of_what_may_be_chance_nothing_is_said_but_that() {
    let unsure = Analysis::of(torn_apart()).unwrap();
    assert_eq!(overall(&unsure, Measure::Mean), Standing::Open);
    let said = report::verdict(&unsure);
    let expected = "mean latency: undecided between weir and haproxy: no difference could be shown, nor that there is none over 5%.";
    assert_eq!(said[0], expected);
    assert!(report::markdown(&unsure).contains("| may be chance |"));
}

#[test]
fn what_differs_by_less_than_the_margin_is_said_not_to_matter() {
    // This holds also if the difference is significant.
    for ratio in [1.0, 0.97] {
        let same = analysis(ratio);
        assert_eq!(overall(&same, Measure::Mean), Standing::Same);
        let said = report::verdict(&same);
        assert_eq!(said[0], "mean latency: no difference that matters between weir and haproxy: within 5%.");
        assert!(report::markdown(&same).contains("| no difference over 5% |"));
    }
    let mut strict = results(0.97);
    strict.meta.insert("scenario".to_owned(), format!("margin = 0.01{SCENARIO}"));
    assert_eq!(overall(&Analysis::of(strict).unwrap(), Measure::Mean), Standing::Better);
}

#[test]
fn a_case_in_which_somebody_is_better_is_named_where_all_of_them_show_no_difference() {
    let mut alike = analysis(1.0);
    let mut pairs = alike.pairs.iter();
    let at = pairs.position(|pair| pair.case.as_deref() == Some("b, c") && pair.measure == Measure::Mean);
    let at = at.unwrap();
    alike.pairs[at] = analysis(0.8).pairs.swap_remove(at);
    assert_eq!(overall(&alike, Measure::Mean), Standing::Same);
    assert_eq!(report::verdict(&alike)[1], "mean latency: but weir and haproxy differ in b, c.");
}

#[test]
fn what_may_or_may_not_be_more_than_the_margin_is_undecided() {
    let near = analysis(0.9515);
    assert_eq!(overall(&near, Measure::Mean), Standing::Open);
    assert!(near.pairs[0].is_small(), "{:?}", near.pairs[0]);
    let said = report::verdict(&near);
    let expected = "mean latency: undecided between weir and haproxy: they differ, but whether by more than 5% could not be shown.";
    assert_eq!(said[0], expected);
    assert!(report::markdown(&near).contains("| may be less than 5% |"));
}

#[test]
fn nothing_is_said_where_the_median_and_the_test_point_in_opposite_directions() {
    let mut all = results(0.995);
    // Two turns of eight in each case in which one rival was far slower.
    for run in all.runs.iter_mut().filter(|run| run.rival == "weir" && run.repeat < 2) {
        run.figures[0].1 *= 50.0;
    }
    let mut analysis = Analysis::of(all).unwrap();
    let pair = &mut analysis.pairs[0];
    assert_eq!((pair.measure, pair.case.as_ref()), (Measure::Mean, None));
    assert!(pair.difference.ratio.median < 1.0 && pair.difference.evidence.direction.is_gt(), "{pair:?}");
    // A significant p-value must not change the outcome.
    pair.adjusted = 0.001;
    assert_eq!((pair.standing(), pair.is_torn()), (Standing::Open, true));
    let said = report::verdict(&analysis);
    let expected = "mean latency: the test and the interval of the typical turn do not point the same way between weir and haproxy: no verdict.";
    assert_eq!(said[0], expected);
    assert!(report::markdown(&analysis).contains("| median and test disagree |"));
}

#[test]
fn so_few_runs_that_no_verdict_is_possible_are_said_to_be_so() {
    let mut all = results(0.5);
    all.runs.retain(|run| run.repeat < 2);
    let few = Analysis::of(all).unwrap();
    let said = report::verdict(&few);
    let expected = "mean latency: 4 pairs of runs are too few to show a difference between weir and haproxy, however large it is.";
    assert_eq!(said[0], expected);
    let markdown = report::markdown(&few);
    assert!(markdown.contains("| 4 of 16 |") && markdown.contains("| too few runs to say |"), "{markdown}");
    // Two values have a range, but no confidence interval.
    assert!(markdown.contains("(range ") && markdown.contains(", 2 of 8 runs |"), "{markdown}");
}

#[test]
fn figures_of_survivors_say_of_how_many_they_are() {
    let mut all = results(1.0);
    for run in all.runs.iter_mut().filter(|run| run.rival == "weir" && run.case == "a") {
        (run.sent, run.succeeded) = (10_000, 9_995);
        if run.repeat == 7 {
            run.flaws.push(RunFlaw::of_measured("the server was stuck"));
        }
    }
    let analysis = Analysis::of(all).unwrap();
    let markdown = report::markdown(&analysis);
    assert!(markdown.contains(", of 99.95% answered, 7 of 8 runs |"), "{markdown}");
    let said = report::verdict(&analysis).join("\n");
    assert!(said.contains("1 of 48 runs are invalid (weir 1)"), "{said}");
    assert!(markdown.contains("| 15 of 16 |"), "{markdown}");
}

#[test]
fn invalid_runs_count_for_nothing_and_are_listed() {
    let mut all = results(0.8);
    for run in all.runs.iter_mut().filter(|run| run.rival == "weir") {
        run.flaws.push(RunFlaw::of_lab("the schedule was not kept"));
    }
    let analysis = Analysis::of(all).unwrap();
    assert!(analysis.pairs.is_empty() && analysis.cell("a", "weir", Measure::Mean).is_none());
    let said = report::verdict(&analysis).join("\n");
    assert!(said.contains("Nothing can be compared") && said.contains("16 of 48 runs are invalid"), "{said}");
    assert!(
        report::markdown(&analysis).contains("- a, weir, repeat 1 (not measured): the schedule was not kept")
    );
    assert!(said.contains("(weir 16), 16 of them by the lab's own fault"), "{said}");
    assert!(report::html(&analysis).contains("<summary>16 runs that are invalid</summary>"));
}

#[test]
fn who_does_not_answer_is_not_faster() {
    let mut all = results(0.1);
    for run in all.runs.iter_mut().filter(|run| run.rival == "weir" && run.case == "a") {
        run.succeeded = 40;
    }
    let analysis = Analysis::of(all).unwrap();
    assert!(analysis.pairs.iter().all(|pair| pair.case.as_deref() != Some("a")));
    assert!(report::verdict(&analysis).contains(
        &"weir answered 40.0% of the requests of a as expected, and is not compared there.".to_owned()
    ));
    assert!(report::markdown(&analysis).contains("of 40% answered"));
}

#[test]
fn who_fails_while_something_is_lost_is_compared_by_how_long() {
    let mut all = results(0.5);
    let judged = SCENARIO.replace("judge = [\"mean\", \"rate\"]", "judge = \"outage\"");
    all.meta.insert("scenario".to_owned(), judged);
    for run in &mut all.runs {
        run.figures = run.figures.iter().map(|(_, value)| (Measure::Outage, *value)).take(1).collect();
        run.succeeded = 80;
    }
    let analysis = Analysis::of(all).unwrap();
    assert_eq!(overall(&analysis, Measure::Outage), Standing::Better);
    let said = report::verdict(&analysis).join("\n");
    assert!(said.contains("longest time without an answer") && !said.contains("is not compared"), "{said}");
}

#[test]
fn a_machine_that_becomes_slower_is_noticed() {
    let mut all = results(1.0);
    assert_eq!(Analysis::of(all.clone()).unwrap().noise.drift, None);
    for run in all.runs.iter_mut().filter(|run| run.repeat >= 4) {
        run.calibration_ns = 1_500_000 + u64::from(run.place);
    }
    let analysis = Analysis::of(all).unwrap();
    let noise = analysis.noise;
    assert!((noise.drift.unwrap() - 0.5).abs() < 0.01, "{noise:?}");
    let said = "became 50.0% slower from the first half of the runs to the second, beyond chance. No difference in speed of 50.1% or less is claimed.";
    assert!(report::markdown(&analysis).contains(said), "{}", report::markdown(&analysis));
}

#[test]
fn a_page_has_tables_with_rows_plots_with_marks_and_no_markup_of_others() {
    let page = report::html(&analysis(0.8));
    assert!(page.contains("<h1>Known &lt;results&gt;</h1>") && !page.contains("<results>"));
    assert!(page.contains("a &lt; b;"));
    assert!(page.matches("<rect class").count() == 0 && page.matches("fill=\"currentColor\"").count() == 24);
    // For each measure of the verdict: bars with intervals, and bars in percent of the best without
    // intervals.
    assert_eq!(page.matches("style=\"stroke: var(--text)\"").count(), 12);
    for plot in ["Mean latency, ms", "In percent of the best: mean", "In percent of the best: rate"] {
        assert_eq!(page.matches(&format!("aria-label=\"{plot}\"")).count(), 1, "{plot}");
    }
    assert!(page.contains("<title>none: 100.0%</title>"), "without a balancer it is the quickest");
    assert!(page.matches("<path class=\"curve").count() >= 6, "latency over time of each rival and case");
    assert!(page.contains("published: pound") && page.contains("9.50"));
    assert!(!page.contains("<script") && !page.contains("http"), "nothing is fetched");
    let markdown = report::markdown(&analysis(0.8));
    assert!(markdown.contains("| rival | a | b, c |\n|---|---|---|\n| none (no balancer) |"), "{markdown}");
    assert!(markdown.contains("none is the client with one server and no balancer between"), "{markdown}");
}

#[test]
fn what_decides_is_open_and_comes_first_and_the_rest_is_folded_away() {
    let page = report::html(&analysis(0.8));
    let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text}: {page}"));
    let order = [
        "class=\"verdict\"",
        "Noise: ",
        "<h2>What was played</h2>",
        "<h2>Mean latency, ms</h2>",
        "<h2>Answers a second</h2>",
        "<h2>Comparisons</h2>",
    ];
    let order = order.map(at);
    assert!(order.is_sorted() && order[5] < at("What was left out"), "{order:?}");
    assert!(at("What was left out") < at("<summary>Answers and servers</summary>"));
    // Comparisons over all cases are visible, those in single cases are folded.
    let (open, folded) = page[order[5]..].split_once("<details").unwrap();
    assert!(open.contains("weir / haproxy") && !open.contains(">b, c<"), "{open}");
    assert!(folded.starts_with(" class=\"fold\"><summary>Comparisons in single cases"));
    assert_eq!(page.matches("<details").count(), page.matches("</details>").count());
    let markdown = report::markdown(&analysis(0.8));
    assert!(markdown.contains("\n## Comparisons in single cases\n\n| figure |"), "{markdown}");
    // A section of plots would be a heading without content.
    assert!(page.contains("<summary>Latency over time") && !markdown.contains("over time"), "{markdown}");
}

#[test]
fn what_is_kept_of_the_eight_tests_can_be_played_again_and_has_enough_runs() {
    let text = include_str!("../../../../docs/results/eight-tests.toml");
    let scenario = lab::load(&Source::new("eight-tests", text), false, &|_| None)
        .unwrap_or_else(|errors| panic!("{}", render(&errors[0], false)));
    assert_eq!((scenario.cases.len(), scenario.rivals.len()), (8, 8));
    let analysis = best_case(&scenario, text, false);
    assert!(analysis.pairs.iter().all(|pair| pair.standing() != Standing::Open), "{:?}", analysis.pairs);
}

#[test]
fn csv_has_a_line_for_each_run() {
    let csv = report::csv(&analysis(0.8));
    let lines: Vec<&str> = csv.split("\r\n").collect();
    assert_eq!(lines.len(), 48 + 2);
    assert!(lines[0].contains(
        ",mean,p50,p99,connect,waiting,rate,cpu,server-cpu,machine-cpu,memory,servers,outage,answered,recovery,p90,p95,max,deviation,success,server-memory,session,latency_min_ms,"
    ));
    assert!(lines[4].starts_with("\"b, c\",none,0,3,"), "{}", lines[4]);
    assert!(lines[4].contains(",s1=50;s2=50,s1=5000;s2=5000,"), "{}", lines[4]);
    let columns: Vec<&str> = lines[0].split(',').collect();
    let rows = lines[1..49].iter().map(|line| line.replace("\"b, c\"", "b").replace("reset, or so", "reset"));
    for row in rows {
        let fields: Vec<&str> = row.split(',').collect();
        assert_eq!(fields.len(), columns.len(), "{row}");
        let of = |name| fields[columns.iter().position(|column| *column == name).unwrap()];
        assert_eq!(
            (of("connect_deviation_ms"), of("session_median_ms"), of("latency_p95_ms")),
            ("0.25", "7.5", "")
        );
        assert_eq!(
            (of("reply_rate_min_per_s"), of("reply_rate_mean_per_s"), of("reply_rate_max_per_s")),
            ("80", "90", "100")
        );
        assert!(of("reply_rate_deviation_per_s").starts_with("14.14"), "{row}");
        assert_eq!((of("statuses"), of("faults")), ("200=99;503=1", "\"reset=2\""));
    }
}

#[test]
fn ratios_that_others_have_published_stand_beside_those_of_the_best() {
    let mut all = results(0.8);
    let percent =
        "[[published]]\ntest = \"a\"\nmeasure = \"mean\"\npercent = true\nvalues = { pound = 120 }\n";
    all.meta.insert("scenario".to_owned(), format!("{SCENARIO}{percent}"));
    let markdown = report::markdown(&Analysis::of(all).unwrap());
    assert!(markdown.contains("| published: pound | 120% | - |"), "{markdown}");
    assert!(markdown.contains("| published: pound | 9.50 | - |"), "{markdown}");
}

#[test]
fn every_publication_with_figures_has_them_beside_its_scenario() {
    for (name, figures) in [
        ("eight-tests", 8 * 3),
        ("webdav-tls", 7),
        ("download", 3),
        ("offload", 2),
        ("connection-rate", 1),
        ("sessions", 4),
        ("lvs", 7),
        ("autoscaler", 1),
        ("failover", 1),
    ] {
        let shipped = SHIPPED.iter().find(|shipped| shipped.name == name).unwrap();
        let scenario = lab::load(&Source::new(name, shipped.text), false, &|_| None).unwrap();
        assert_eq!(scenario.published.len(), figures, "{name}");
        assert!(scenario.published.iter().all(|one| !one.values.is_empty()), "{name}");
    }
}

#[test]
fn every_scenario_that_comes_with_weir_can_be_played_in_full_and_quickly() {
    for shipped in SHIPPED {
        let source = Source::new(shipped.name, shipped.text);
        let load = |quick| {
            lab::load(&source, quick, &|_| None)
                .unwrap_or_else(|errors| panic!("{}", render(&errors[0], false)))
        };
        let (full, quick) = (load(false), load(true));
        assert!(!full.title.is_empty() && shipped.about().len() > 20, "{}", shipped.name);
        let runs = |scenario: &lab::Scenario| {
            scenario.cases.len() * scenario.rivals.len() * scenario.repeats as usize
        };
        assert!(runs(&quick) <= 160, "{}: {} runs", shipped.name, runs(&quick));
        assert!(minutes(&quick) < 7.0, "{}: {:.1} minutes", shipped.name, minutes(&quick));
    }
    assert!(SHIPPED.is_sorted_by_key(|shipped| shipped.name));
}

/// Returns the minutes of loads, warm-ups and pauses. A closed loop with a count has no fixed duration; a
/// hundredth of a second per request is a high estimate.
fn minutes(scenario: &lab::Scenario) -> f64 {
    let lasts = |case: &lab::Case| match (case.requests, case.demand) {
        _ if !case.phases.is_empty() => {
            case.phases.iter().map(|(_, lasts)| lasts.duration().as_secs_f64()).sum::<f64>()
        }
        (Some(requests), lab::Demand::Connections(_)) => requests as f64 * 0.01,
        (Some(requests), lab::Demand::Rate { per_s, .. }) => requests as f64 / per_s,
        (None, _) => case.duration.duration().as_secs_f64(),
    };
    let rest = scenario.warm_up.duration() + scenario.pause.duration();
    let turn: f64 = scenario.cases.iter().map(|case| lasts(case) + rest.as_secs_f64()).sum();
    turn * scenario.rivals.len() as f64 * f64::from(scenario.repeats) / 60.0
}

/// Returns results in which nearly all runs are valid, and the first rival is always the fastest.
fn best_case(scenario: &lab::Scenario, text: &str, quick: bool) -> Analysis {
    let mut results = Results::default();
    let form = if quick { "quick" } else { "full" };
    for (key, value) in [("scenario", text), ("form", form), ("name", "best"), ("topology", "loopback")] {
        results.meta.insert(key.to_owned(), value.to_owned());
    }
    for repeat in 0..scenario.repeats {
        for case in &scenario.cases {
            for (at, rival) in scenario.rivals.iter().enumerate() {
                results.runs.push(Played {
                    case: case.name.clone(),
                    rival: rival.name.clone(),
                    repeat,
                    figures: Measure::ALL.map(|measure| (measure, 10.0 + 5.0 * at as f64)).to_vec(),
                    sent: 100,
                    succeeded: 100,
                    // One run of each rival is invalid, as in practice.
                    flaws: if (repeat, &case.name) == (0, &scenario.cases[0].name) {
                        vec![RunFlaw::of_lab("late")]
                    } else {
                        Vec::new()
                    },
                    ..Played::default()
                });
            }
        }
    }
    Analysis::of(results).unwrap()
}

#[test]
fn every_scenario_that_comes_with_weir_has_enough_runs_for_a_verdict_over_all_cases() {
    for (shipped, quick) in SHIPPED.iter().flat_map(|shipped| [(shipped, false), (shipped, true)]) {
        let scenario = lab::load(&Source::new(shipped.name, shipped.text), quick, &|_| None).unwrap();
        let analysis = best_case(&scenario, shipped.text, quick);
        for pair in analysis.pairs.iter().filter(|pair| pair.case.is_none()) {
            assert!(
                pair.standing() != Standing::Open,
                "{}, quick: {quick}: {} pairs of runs can show no difference: {pair:?}",
                shipped.name,
                pair.difference.pairs
            );
        }
    }
}
