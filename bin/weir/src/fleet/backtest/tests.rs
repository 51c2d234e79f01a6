//! Tests of `weir fleet backtest`: its options, its rules and its report.

use std::fs;

use clap::Parser;

use super::*;

#[derive(Debug, Parser)]
struct Cli {
    #[command(flatten)]
    args: BacktestArgs,
}

fn arguments(words: &[&str]) -> Result<BacktestArgs, String> {
    let words = ["backtest"].iter().chain(words);
    Cli::try_parse_from(words).map(|cli| cli.args).map_err(|cause| cause.to_string())
}

fn report(words: &[&str]) -> Result<FleetReport, String> {
    compare(&arguments(words)?)
}

fn names(words: &[&str]) -> Result<Vec<String>, String> {
    Ok(rules::of(&arguments(words)?)?.into_iter().map(|rules| rules.name.to_string()).collect())
}

#[test]
fn without_options_the_published_rule_and_the_default_policy_meet_the_published_load() {
    assert_eq!(names(&[]).unwrap(), ["published", "target"]);
    let report = report(&["--seeds", "2"]).unwrap();
    assert_eq!((report.demand.as_str(), report.seconds, report.peak_per_s), ("published", 1_200, 131.0));
}

#[test]
fn the_terminal_gets_a_table_and_the_verdict() {
    let report = report(&["--seeds", "3", "--pattern", "flash"]).unwrap();
    insta::assert_snapshot!(table::render(&report, Style::Plain));
}

#[test]
fn policies_are_written_as_in_a_file() {
    let words = [
        "--policy",
        "target",
        "--policy",
        "calm={ kind = \"target\", down-after = \"2m\" }",
        "--policy",
        "[\"reactive\", \"target\"]",
    ];
    assert_eq!(names(&words).unwrap(), ["target", "calm", "policy-3"]);
    let rules = rules::of(&arguments(&words).unwrap()).unwrap();
    assert_eq!(rules[2].rules.policies.len(), 2);
    assert_ne!(rules[0].rules.policies, rules[1].rules.policies);
}

#[test]
fn options_say_what_the_servers_of_policies_are_like() {
    let words = [
        "--min",
        "1",
        "--max",
        "7",
        "--capacity",
        "2.5",
        "--standby",
        "3",
        "--start-up",
        "90s",
        "--wake-up",
        "1.5s",
        "--policy",
        "target",
    ];
    let args = arguments(&words).unwrap();
    let rules = rules::of(&args).unwrap().remove(0).rules;
    assert_eq!((rules.bounds.min, rules.bounds.max, rules.standby.keep), (1, 7, 3));
    assert_eq!((rules.start_up.as_secs(), rules.wake_up.as_millis()), (90, 1_500));
    assert_eq!(args.world().capacity_per_s, 2.5);
}

#[test]
fn what_makes_no_sense_is_refused() {
    for (words, cause) in [
        (&["--policy", "targit"][..], "the rules are wrong"),
        (&["--policy", "a b"], "a name, or NAME=VALUE"),
        (&["--policy", "target", "--policy", "target"], "target is there twice"),
        (&["--min", "5", "--max", "3"], "the rules are wrong"),
        (&["--pattern", "sine"], "one of published"),
        (&["--capacity", "0"], "out of range"),
        (&["--history", "/nowhere/x.csv"], "/nowhere/x.csv: No such file"),
        (&["--rules", "/nowhere/x.toml"], "/nowhere/x.toml: No such file"),
        (&["--history", "x", "--pattern", "flash"], "cannot be used with"),
    ] {
        let error = report(words).unwrap_err();
        assert!(error.contains(cause), "{words:?}: {error}");
    }
}

#[test]
fn a_recording_is_played() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("history.csv");
    fs::write(&path, "elapsed_s,rate_per_s\n0,\n300,15\n600,55\n900,15\n").unwrap();
    let path = path.to_str().unwrap();
    let report = report(&["--history", path, "--seeds", "2", "--scale", "2"]).unwrap();
    assert_eq!((report.seconds, report.peak_per_s), (900, 110.0));
    fs::write(path, "elapsed_s,rate_per_s\n0,\nx,15\n").unwrap();
    let error = compare(&arguments(&["--history", path]).unwrap()).unwrap_err();
    assert_eq!(error, format!("{path}: line 3: \"x\" is no number"));
}

#[test]
fn rules_of_the_guide_are_rules() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/scaling.md");
    let page = fs::read_to_string(page).unwrap();
    let examples: Vec<&str> =
        page.split("```toml rules\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
    assert!(!examples.is_empty());
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("rules.toml");
    for example in examples {
        fs::write(&path, example).unwrap();
        let names = names(&["--rules", path.to_str().unwrap()]).unwrap();
        assert!(names.len() > 1, "{example}");
    }
}
