//! Tests of the selection of comparisons.

use super::super::report;
use super::super::store::Played;
use super::super::{Analysis, Standing};
use super::{SCENARIO, results};

#[test]
fn no_balancer_is_compared_with_itself_alone() {
    let twice = SCENARIO
        .replace("rivals = [\"none\",", "rivals = [\"none\", { product = \"none\", name = \"again\" },");
    assert_ne!(twice, SCENARIO);
    let mut all = results(0.8);
    let again = all.runs.iter().filter(|run| run.rival == "none").cloned();
    let again: Vec<_> = again.map(|run| Played { rival: "again".to_owned(), ..run }).collect();
    all.runs.extend(again);
    all.meta.insert("scenario".to_owned(), twice);
    let analysis = Analysis::of(all).unwrap();
    let of_none = |name: &str| ["none", "again"].contains(&name);
    let found: Vec<_> =
        analysis.pairs.iter().filter(|pair| of_none(&pair.one) || of_none(&pair.other)).collect();
    assert!(
        found.iter().all(|pair| (pair.one.as_str(), pair.other.as_str()) == ("none", "again")),
        "{found:?}"
    );
    assert!(found.iter().any(|pair| pair.case.is_none() && pair.standing() == Standing::Same), "{found:?}");
    let said = report::markdown(&analysis);
    assert!(said.contains("- Control: none and again are the same set-up, and came to the same."), "{said}");
    // The control does not change the p-values of other pairs.
    let alone = Analysis::of(results(0.8)).unwrap();
    let others: Vec<_> = analysis.pairs.iter().filter(|pair| !of_none(&pair.one)).collect();
    assert_eq!(others, alone.pairs.iter().collect::<Vec<_>>());
}

#[test]
fn who_did_not_answer_everything_is_nobodys_hundred_percent() {
    let mut all = results(0.8);
    all.runs
        .iter_mut()
        .filter(|run| (run.rival.as_str(), run.case.as_str()) == ("weir", "a"))
        .for_each(|run| run.succeeded = 40);
    let markdown = report::markdown(&Analysis::of(all).unwrap());
    let (_, relative) = markdown.split_once("In percent of the best:").unwrap();
    let row = |name: &str| relative.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
    assert!(row("| weir |").starts_with("| weir | - | "), "{relative}");
    let none = "| none (no balancer) |";
    assert!(row(none).starts_with(&format!("{none} 100% | 100%")), "{relative}");
}

#[test]
fn a_report_tells_builds_and_says_whose_commit_it_tells() {
    for name in ["commit", "directory-commit"] {
        let mut all = results(0.8);
        all.meta.insert(name.to_owned(), "0123abcd".to_owned());
        let identity =
            r#"{"program weir": "aa00", "rival haproxy": "3.2.1 bb11", "rival weir": "0.1.0 aa00"}"#;
        all.meta.insert("identity".to_owned(), identity.to_owned());
        let said = report::markdown(&Analysis::of(all).unwrap());
        for row in [
            "| commit of the directory in which it was started (programs may be of another) | 0123abcd |",
            "| build of haproxy | 3.2.1 bb11 |",
            "| build of weir | 0.1.0 aa00 |",
        ] {
            assert!(said.contains(row), "{row}: {said}");
        }
    }
}
