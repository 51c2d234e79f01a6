//! What is said of results, for results that are known.

use weir_config::lab::{self, Measure};
use weir_config::{Source, render};

use super::report;
use super::store::{Played, Results};
use super::{Analysis, Configured, SHIPPED, Standing, compare};

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

/// Means of `weir` are `ratio` times those of `haproxy`, with a little noise.
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
            summary: "{\"moments\":[{\"at_s\":0,\"p50_us\":100},{\"at_s\":1,\"p50_us\":200}]}".to_owned(),
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

#[test]
fn of_what_may_be_chance_nothing_is_said_but_that() {
    let same = analysis(1.0);
    assert_eq!(overall(&same, Measure::Mean), Standing::Open);
    let said = report::verdict(&same);
    assert_eq!(said[0], "mean latency: no difference could be shown between weir and haproxy.");
}

#[test]
fn invalid_runs_count_for_nothing_and_are_listed() {
    let mut all = results(0.8);
    for run in all.runs.iter_mut().filter(|run| run.rival == "weir") {
        run.flaws.push("the schedule was not kept".to_owned());
    }
    let analysis = Analysis::of(all).unwrap();
    assert!(analysis.pairs.is_empty() && analysis.cell("a", "weir", Measure::Mean).is_none());
    let said = report::verdict(&analysis).join("\n");
    assert!(said.contains("Nothing can be compared") && said.contains("16 of 48 runs are invalid"), "{said}");
    assert!(report::markdown(&analysis).contains("- a, weir, repeat 1: the schedule was not kept"));
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
fn a_machine_that_becomes_slower_is_noticed() {
    let mut all = results(1.0);
    assert_eq!(Analysis::of(all.clone()).unwrap().noise.drift, None);
    for run in all.runs.iter_mut().filter(|run| run.repeat >= 4) {
        run.calibration_ns = 1_500_000 + u64::from(run.place);
    }
    let noise = Analysis::of(all).unwrap().noise;
    assert!((noise.drift.unwrap() - 0.5).abs() < 0.01, "{noise:?}");
}

#[test]
fn a_page_has_tables_with_rows_plots_with_marks_and_no_markup_of_others() {
    let page = report::html(&analysis(0.8));
    assert!(page.contains("<h1>Known &lt;results&gt;</h1>") && !page.contains("<results>"));
    assert!(page.contains("a &lt; b;"));
    assert!(page.matches("<rect class").count() == 0 && page.matches("fill=\"currentColor\"").count() == 12);
    assert!(page.matches("<path class=\"curve").count() >= 6, "latency over time of each rival and case");
    assert!(page.contains("published: pound") && page.contains("9.50"));
    assert!(!page.contains("<script") && !page.contains("http"), "nothing is fetched");
    let markdown = report::markdown(&analysis(0.8));
    assert!(markdown.contains("| rival | a | b, c |\n|---|---|---|\n| none |"), "{markdown}");
}

#[test]
fn csv_has_a_line_for_each_run() {
    let csv = report::csv(&analysis(0.8));
    let lines: Vec<&str> = csv.split("\r\n").collect();
    assert_eq!(lines.len(), 48 + 2);
    assert!(lines[0].ends_with("mean,p50,p99,connect,waiting,rate,cpu,server-cpu,memory,servers,outage"));
    assert!(lines[4].starts_with("\"b, c\",none,0,3,"), "{}", lines[4]);
    let columns = lines[1].split(',').count();
    assert_eq!(columns, lines[0].split(',').count());
}

#[test]
fn a_regression_is_what_is_worse_beyond_chance() {
    let (before, after) = (analysis(0.8), analysis(1.0));
    let worse = |compared: Vec<super::Regression>| -> Vec<(String, String)> {
        let worse = compared.into_iter().filter(|one| one.is_worse(0.02));
        worse.map(|one| (one.rival, one.case)).collect()
    };
    let found = worse(compare(&before, &after));
    assert!(!found.is_empty() && found.iter().all(|(rival, _)| rival == "weir"), "{found:?}");
    assert!(worse(compare(&after, &before)).is_empty());
    assert!(worse(compare(&before, &before)).is_empty());
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
        assert!(runs(&quick) <= 120, "{}: {} runs", shipped.name, runs(&quick));
        // Enough pairs for a verdict over all cases: with 6 the least probability is 2 in 64.
        assert!(quick.cases.len() * quick.repeats as usize >= 4, "{}", shipped.name);
    }
    assert!(SHIPPED.is_sorted_by_key(|shipped| shipped.name));
}
