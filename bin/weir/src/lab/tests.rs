//! Tests of the options of `weir lab`, and of the built-in scenarios.

use clap::Parser;
use weir_lab::contest::SHIPPED;

use super::arguments::{LabArgs, LabVerb};
use super::files;

#[derive(Debug, Parser)]
struct Cli {
    #[command(flatten)]
    args: LabArgs,
}

fn parse(line: &str) -> Result<LabVerb, String> {
    let words = std::iter::once("lab").chain(line.split_whitespace());
    Cli::try_parse_from(words).map(|cli| cli.args.verb).map_err(|cause| cause.to_string())
}

#[test]
fn shares_are_in_percent_and_rates_a_second() {
    let Ok(LabVerb::FindCapacity(args)) =
        parse("find-capacity --quantile 99.9 --max 500/s --latency 20ms http://a/")
    else {
        panic!();
    };
    assert!((args.quantile - 0.999).abs() < 1e-12 && args.max == 500.0);
    for (line, said) in [
        ("find-capacity --quantile 101 http://a/", "0 to 100"),
        ("find-capacity --start 0 http://a/", "0.1 to"),
        ("find-capacity --votes 0 http://a/", "1..=20"),
        ("find-capacity --confidence 100 http://a/", "50 to 99.99"),
        ("compare --tolerance x a b", "no number"),
        ("run", "SCENARIO"),
    ] {
        let error = parse(line).unwrap_err();
        assert!(error.contains(said), "{line}: {error}");
    }
}

#[test]
fn scenarios_come_with_weir_or_from_files() {
    let (source, stem) = files::scenario(SHIPPED[0].name).unwrap();
    assert_eq!((source.text.as_str(), stem.as_str()), (SHIPPED[0].text, SHIPPED[0].name));
    assert!(files::scenario("eight-test").unwrap_err().contains("did you mean \"eight-tests\"?"));
    assert!(files::scenario("/nowhere/x.toml").unwrap_err().starts_with("/nowhere/x.toml: "));
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("own.toml");
    std::fs::write(&path, "x").unwrap();
    assert_eq!(files::scenario(path.to_str().unwrap()).unwrap().1, "own");
}
