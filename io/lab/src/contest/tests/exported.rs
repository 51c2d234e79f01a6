//! Tests that exports give the same reports as the SQLite file, and that those in `docs/results` still give
//! the verdicts of their pages.

use super::super::export;
use super::super::store::{Growth, Losses};
use super::*;

/// Returns results with all parts of an export: an invalid run, failures, a rival that was left out, losses,
/// growth.
fn full() -> Results {
    let mut all = results(0.8);
    all.meta.insert("kernel".to_owned(), "6.1 \"test\"\n".to_owned());
    all.runs[4].flaws =
        vec![RunFlaw::of_lab("starts were late"), RunFlaw::of_measured("a server got nothing")];
    all.runs[7].succeeded = 95;
    all.runs[7].failures_lasted_s = Some(1.5);
    all.rivals.push(Configured {
        rival: "pound".to_owned(),
        left_out: "it did not start".to_owned(),
        ..Configured::default()
    });
    let (case, rival) = ("a".to_owned(), "weir".to_owned());
    all.losses.push(Losses {
        case: case.clone(),
        rival: rival.clone(),
        source: "balancer-tcp".to_owned(),
        sent: 1_000.0,
        sent_again: 3.0,
        overflows: 2.0,
        resets: 1.0,
    });
    all.growth.push(Growth {
        case,
        rival,
        source: "energy".to_owned(),
        subject: "package-0".to_owned(),
        figure: "energy_j".to_owned(),
        mean: 12.25,
    });
    all
}

#[test]
fn an_export_is_read_back_as_the_same_report() {
    let mut original = full();
    original.rivals[0].program = "/usr/sbin/weir".into();
    let original = Analysis::of(original).unwrap();
    let json = export::to_json(&original).unwrap();
    assert!(!json.contains("/usr/sbin/weir"), "{json}");
    let again = Analysis::of(export::from_json(json.as_bytes()).unwrap()).unwrap();
    assert_eq!(report::markdown(&again), report::markdown(&original));
    assert_eq!(export::to_json(&again).unwrap(), json);
    let compared = compare(&original, &again);
    assert_eq!(compared.missing, [""; 0]);
    assert_eq!(compared.notes, compare(&original, &original).notes);
    assert_eq!((compared.verdicts.same, compared.verdicts.count()), (2, 2));
    // Other programs read exports, too.
    let value: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(value["runs"][4]["flaws"][0]["whose"], "lab");
    assert_eq!(value["runs"][0]["servers"]["s2"], serde_json::json!([50, 5_000]));
    assert_eq!(value["verdict"].as_array().unwrap().len(), report::verdict(&original).len());
}

#[test]
fn an_export_leaves_out_values_that_json_cannot_hold() {
    let mut all = full();
    all.runs[8].figures = vec![(Measure::Mean, f64::NAN), (Measure::Rate, 7.0)];
    let json = export::to_json(&Analysis::of(all).unwrap()).unwrap();
    let again = export::from_json(json.as_bytes()).unwrap();
    assert_eq!(again.runs[8].figures, [(Measure::Rate, 7.0)]);
}

#[test]
fn an_export_that_cannot_be_read_is_refused_with_the_reason() {
    let json = export::to_json(&Analysis::of(full()).unwrap()).unwrap();
    for (written, instead, said) in [
        ("\"format\": 1", "\"format\": 2", "has the export format 2; this program reads 1"),
        (
            "\"figures\":{\"mean\":",
            "\"figures\":{\"average\":",
            "case a, rival none, repeat 0: no measure is called \"average\"",
        ),
        ("\"losses\": [", "\"loss\": [", "unknown field `loss`"),
        ("{\n", "", "neither a SQLite file of `weir lab run` nor an export of one: "),
    ] {
        assert!(json.contains(written), "{written}");
        let error = export::from_json(json.replacen(written, instead, 1).as_bytes()).unwrap_err().to_string();
        assert!(error.contains(said), "{said}: {error}");
    }
}

#[test]
fn kept_results_still_come_to_the_verdicts_that_are_kept_with_them() {
    for (name, json, page, runs) in [
        (
            "eight-tests",
            include_str!("../../../../../docs/results/eight-tests.json"),
            include_str!("../../../../../docs/results/eight-tests.html"),
            448,
        ),
        (
            "eight-tests-lvs",
            include_str!("../../../../../docs/results/eight-tests-lvs.json"),
            include_str!("../../../../../docs/results/eight-tests-lvs.html"),
            160,
        ),
        (
            "lvs-quick",
            include_str!("../../../../../docs/results/lvs-quick.json"),
            include_str!("../../../../../docs/results/lvs-quick.html"),
            60,
        ),
    ] {
        let analysis = Analysis::of(export::from_json(json.as_bytes()).unwrap()).unwrap();
        assert_eq!(analysis.results.runs.len(), runs, "{name}");
        let renew = format!(
            "{name}: derive both files from the export again, by `weir lab export` and `weir lab report --html`"
        );
        assert!(export::to_json(&analysis).unwrap() == json, "{renew}");
        for entry in report::verdict_by_figure(&analysis).lines() {
            let entry = entry.trim_start_matches("  - ");
            assert!(page.contains(&weir_sim::chart::escaped(entry)), "{renew}: {entry}");
        }
    }
}
