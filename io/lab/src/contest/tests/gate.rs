//! What a gate lets through, and what it does not.

use super::super::Comparison;
use super::*;

/// Of file `before`, what `change` makes of the file after.
fn gate(change: impl Fn(&mut Results)) -> Comparison {
    let mut after = results(1.0);
    change(&mut after);
    compare(&analysis(1.0), &Analysis::of(after).unwrap())
}

fn of_weir(results: &mut Results) -> impl Iterator<Item = &mut Played> {
    results.runs.iter_mut().filter(|run| run.rival == "weir" && run.case == "a")
}

#[test]
fn a_regression_is_what_is_worse_beyond_chance() {
    let (before, after) = (analysis(0.8), analysis(1.0));
    let worse = |compared: Comparison| -> Vec<(String, String)> {
        let worse = compared.figures.into_iter().filter(|one| one.is_worse(0.02));
        worse.map(|one| (one.rival, one.case)).collect()
    };
    let found = worse(compare(&before, &after));
    assert!(!found.is_empty() && found.iter().all(|(rival, _)| rival == "weir"), "{found:?}");
    assert!(compare(&before, &after).is_worse(0.02) && !compare(&before, &after).is_worse(0.5));
    assert!(!compare(&after, &before).is_worse(0.02));
    let same = compare(&before, &before);
    assert!(!same.is_worse(0.02) && !same.is_hopeless(), "{same:?}");
    assert!(same.missing.is_empty() && same.notes.is_empty(), "{same:?}");
}

#[test]
fn who_is_quick_because_it_fails_is_worse() {
    let broken = gate(|after| {
        for run in of_weir(after) {
            run.succeeded = 20;
            run.figures = vec![(Measure::Mean, 0.1), (Measure::Rate, 1e6)];
        }
    });
    let worse: Vec<_> = broken.failures.iter().filter(|one| one.is_worse).collect();
    assert_eq!(worse.len(), 1);
    assert_eq!((worse[0].case.as_str(), worse[0].before, worse[0].after), ("a", 0.0, 0.8));
    assert!(broken.is_worse(0.02) && broken.figures.iter().all(|one| !one.differs(0.02)), "{broken:?}");
    // One run of eight is enough, where nothing failed before.
    assert!(gate(|after| of_weir(after).next().unwrap().succeeded = 0).is_worse(0.02));
    // Also if that makes it invalid.
    let stuck = gate(|after| {
        let run = of_weir(after).next().unwrap();
        (run.succeeded, run.flaws) = (10, vec!["the server was stuck".to_owned()]);
    });
    assert!(stuck.is_worse(0.02) && stuck.missing.is_empty(), "{stuck:?}");
    // A few more in each run are, too; as many in one are chance.
    assert!(
        gate(|after| of_weir(after).for_each(|run| (run.sent, run.succeeded) = (1_000, 995))).is_worse(0.02)
    );
    let one = gate(|after| {
        for (at, run) in of_weir(after).enumerate() {
            (run.sent, run.succeeded) = (1_000, if at == 3 { 980 } else { 1_000 });
        }
    });
    assert!(!one.is_worse(0.02), "{:?}", one.failures);
}

#[test]
fn what_is_missing_is_worse() {
    let invalid =
        gate(|after| of_weir(after).for_each(|run| run.flaws.push("nothing was answered".to_owned())));
    assert_eq!(invalid.missing, ["a, weir: 8 valid runs in the first file, none in the second (8 invalid)"]);
    assert!(invalid.is_worse(0.02));
    let gone = gate(|after| {
        after.runs.retain(|run| run.rival != "weir");
        after.rivals[0].left_out = "its program is not there".to_owned();
    });
    assert_eq!(gone.missing.len(), 2);
    assert!(
        gone.missing[1].starts_with("b, c, weir: 8 valid runs") && gone.missing[1].contains("is not there")
    );
    let no_case = gate(|after| {
        let scenario = SCENARIO.replace("\"b, c\"", "\"d\"");
        after.meta.insert("scenario".to_owned(), scenario);
    });
    assert_eq!(no_case.missing, ["b, c: the second file has no such case"]);
    let other = gate(|after| {
        let scenario = SCENARIO.replace("connections = 2", "connections = 20");
        after.meta.insert("scenario".to_owned(), scenario);
    });
    assert_eq!(other.missing, ["b, c: the second file's case of this name is another one"]);
    let elsewhere = gate(|after| drop(after.meta.insert("topology".to_owned(), "namespaces".to_owned())));
    assert_eq!(
        elsewhere.missing,
        ["the first file was played over \"loopback\", the second over \"namespaces\""]
    );
    let no_figure = gate(|after| of_weir(after).for_each(|run| run.figures.truncate(1)));
    assert_eq!(no_figure.missing, ["a, weir: the second file has no rate of runs that were answered"]);
}

#[test]
fn so_few_runs_that_nothing_could_be_worse_are_no_proof() {
    let mut few = results(1.0);
    few.runs.retain(|run| run.repeat < 3);
    let few = Analysis::of(few).unwrap();
    assert!(compare(&few, &few).is_hopeless());
    let some = gate(|after| of_weir(after).skip(2).for_each(|run| run.flaws.push("late".to_owned())));
    assert!(some.is_hopeless() && !some.is_worse(0.02));
    // Enough for a single figure; not where there are twelve of them, and only this one is worse.
    let short = gate(|after| of_weir(after).skip(3).for_each(|run| run.flaws.push("late".to_owned())));
    assert!(short.is_hopeless());
    assert!(
        some.notes.contains(&"a, weir: 6 of 8 runs of the second file are invalid".to_owned()),
        "{:?}",
        some.notes
    );
}

#[test]
fn another_machine_is_noted() {
    let noted = gate(|after| {
        after.meta.insert("kernel".to_owned(), "6.2".to_owned());
        after.rivals[1].version = "2.0".to_owned();
    });
    let expected = [
        "kernel: \"\" in the first file, \"6.2\" in the second",
        "haproxy: version \"1.0\" in the first file, \"2.0\" in the second",
    ];
    assert_eq!(noted.notes, expected);
}
