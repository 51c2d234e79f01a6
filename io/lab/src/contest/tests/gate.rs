//! Tests of the gate that compares two files.

use super::super::Comparison;
use super::*;

/// Compares a file with the same file after `change`.
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
    let worse: Vec<_> = broken.failures.iter().filter(|one| one.is_worse()).collect();
    assert_eq!(worse.len(), 1);
    assert_eq!((worse[0].case.as_str(), worse[0].before, worse[0].after), ("a", 0.0, 0.8));
    assert!(broken.is_worse(0.02) && broken.figures.iter().all(|one| !one.differs(0.02)), "{broken:?}");
    // One run of eight suffices, if no request failed before.
    assert!(gate(|after| of_weir(after).next().unwrap().succeeded = 0).is_worse(0.02));
    // This holds also if the run is then invalid.
    let stuck = gate(|after| {
        let run = of_weir(after).next().unwrap();
        (run.succeeded, run.flaws) = (10, vec![RunFlaw::of_measured("the server was stuck")]);
    });
    assert!(stuck.is_worse(0.02) && stuck.missing.is_empty(), "{stuck:?}");
    // A few more failures in each run are worse, too. The same number in one run is chance.
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
    let invalid = gate(|after| {
        of_weir(after).for_each(|run| run.flaws.push(RunFlaw::of_measured("nothing was answered")))
    });
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
    let said = "b, c: the second file's case of this name is another one: \
        demand is {\"connections\":2} in the first file, {\"connections\":20} in the second";
    assert_eq!(other.missing, [said]);
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
    let some = gate(|after| of_weir(after).skip(2).for_each(|run| run.flaws.push(RunFlaw::of_lab("late"))));
    assert!(some.is_hopeless() && !some.is_worse(0.02));
    // Enough runs for a single measure, but not for a family of twelve of which only this one is worse.
    let short = gate(|after| of_weir(after).skip(3).for_each(|run| run.flaws.push(RunFlaw::of_lab("late"))));
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

#[test]
fn another_choice_of_monitors_is_noted() {
    let noted =
        |key: &str| gate(|after| drop(after.meta.insert("scenario".to_owned(), format!("{key}{SCENARIO}"))));
    let more = noted("monitors = [\"disks\", \"energy\"]\n");
    assert_eq!(more.notes, ["monitors: [] in the first file, [\"disks\", \"energy\"] in the second"]);
    assert!(more.missing.is_empty() && !more.is_worse(0.02), "{more:?}");
    let often = noted("watch = \"50ms\"\n");
    assert_eq!(often.notes, ["watch: 500ms in the first file, 50ms in the second"]);
}

#[test]
fn what_only_one_of_two_rivals_is_told_makes_it_another_one() {
    let told = "{ product = \"weir\", name = \"weir\", balance = \"lblc\" }";
    let other = SCENARIO.replace("\"weir\"", told);
    assert_ne!(other, SCENARIO);
    let differs = |before: &str, after: &str| {
        let of = |scenario: &str| {
            let mut all = results(1.0);
            all.meta.insert("scenario".to_owned(), scenario.to_owned());
            Analysis::of(all).unwrap()
        };
        compare(&of(before), &of(after)).missing
    };
    let said = "the second file's weir is another one: balance is ";
    let (one, other) = (differs(SCENARIO, &other), differs(&other, SCENARIO));
    assert!(
        one.iter().any(|line| line.starts_with(said) && line.contains("null in the first file")),
        "{one:?}"
    );
    assert!(
        other.iter().any(|line| line.starts_with(said) && line.contains("null in the second")),
        "{other:?}"
    );
}

#[test]
fn what_the_generator_is_to_blame_for_is_not_measured_and_no_regression() {
    let late = "the schedule was not kept: 90 of 100 starts were over 1 ms late";
    // Failures of a server would be worse, but this run says nothing about the server.
    let spoilt = gate(|after| {
        for run in of_weir(after).take(2) {
            (run.succeeded, run.flaws) = (0, vec![RunFlaw::of_lab(late)]);
        }
    });
    assert!(!spoilt.is_worse(0.02) && !spoilt.is_hopeless(), "{spoilt:?}");
    assert_eq!(spoilt.unmeasured.len(), 2);
    assert_eq!(spoilt.unmeasured[0], format!("a, weir, repeat 1: {late}"));
    // If the lab made all runs invalid, the second file is neither worse nor equal.
    let all = gate(|after| of_weir(after).for_each(|run| run.flaws.push(RunFlaw::of_lab(late))));
    assert!(!all.is_worse(0.02) && all.is_hopeless() && all.missing.is_empty(), "{all:?}");
    let said =
        "a, weir: 8 valid runs in the first file, none in the second (8 invalid, 8 of them not measured)";
    assert_eq!(all.unknown, [said]);
    // One run that shows a fault of the server suffices.
    let one = gate(|after| {
        of_weir(after).for_each(|run| run.flaws.push(RunFlaw::of_lab(late)));
        of_weir(after).last().unwrap().flaws = vec![RunFlaw::of_measured("the server was stuck")];
    });
    assert!(one.is_worse(0.02) && one.unknown.is_empty(), "{one:?}");
}

#[test]
fn failures_are_judged_with_all_other_questions_and_not_each_by_itself() {
    // In five runs of eight. As the only test, its p-value would be one in forty.
    let few = |after: &mut Results| {
        for (at, run) in of_weir(after).enumerate() {
            (run.sent, run.succeeded) = (1_000, if at < 5 { 993 } else { 1_000 });
        }
    };
    let compared = gate(few);
    let asked = compared.failures.iter().find(|one| !one.is_none()).unwrap();
    assert!(asked.evidence.probability < 0.05 && asked.after > asked.before + 0.001, "{asked:?}");
    assert!(asked.adjusted > 0.05 && !asked.is_worse(), "{asked:?}");
    assert!(!compared.is_worse(0.02));
}

/// Returns results of a case in which a server is killed. Each run has these shares of responses and
/// durations of trouble.
fn troubled(answered: impl Fn(u32) -> u64, recovery_ms: f64) -> Analysis {
    let mut all = results(1.0);
    let scenario = SCENARIO
        .replace("judge = [\"mean\", \"rate\"]", "judge = [\"outage\", \"recovery\", \"mean\"]")
        .replace("connections = 1\n", "connections = 1\nkill-for = \"1s\"\n");
    all.meta.insert("scenario".to_owned(), scenario);
    for run in &mut all.runs {
        let noise = 1.0 + f64::from(run.place % 7) * 0.01;
        let own = run.figures[0].1;
        run.figures = vec![
            (Measure::Mean, own),
            (Measure::Outage, 20.0 * noise),
            (Measure::Recovery, recovery_ms * noise),
        ];
        if run.case == "a" {
            (run.sent, run.succeeded) = (1_000, answered(run.repeat));
        }
    }
    Analysis::of(all).unwrap()
}

#[test]
fn failures_by_design_are_judged_by_how_many_and_how_long_and_are_no_reason_to_refuse() {
    let before = troubled(|repeat| 950 - u64::from(repeat), 900.0);
    let same = compare(&before, &before);
    // All of these runs have under 99% of expected responses.
    let of_a = |measure| same.figures.iter().any(|one| one.case == "a" && one.measure == measure);
    assert!(of_a(Measure::Outage) && of_a(Measure::Recovery) && !of_a(Measure::Mean), "{same:?}");
    assert!(!same.is_worse(0.02) && !same.is_hopeless() && same.missing.is_empty(), "{same:?}");
    // Two percent more failures in one run are chance.
    let noisy = troubled(|repeat| if repeat == 3 { 800 } else { 950 - u64::from(repeat) }, 900.0);
    let noisy = compare(&before, &noisy);
    assert!(noisy.failures[0].after > noisy.failures[0].before + 0.01 && !noisy.is_worse(0.02), "{noisy:?}");
    // Two percent more in all runs are worse, and so is a longer recovery.
    assert!(compare(&before, &troubled(|repeat| 930 - u64::from(repeat), 900.0)).is_worse(0.02));
    let longer = compare(&before, &troubled(|repeat| 950 - u64::from(repeat), 1_800.0));
    let worse: Vec<_> = longer.figures.iter().filter(|one| one.is_worse(0.02)).collect();
    assert!(worse.len() == 6 && worse.iter().all(|one| one.measure == Measure::Recovery), "{worse:?}");
    // A rival that answered all requests before, and now does not, has no mean to compare. The failures show
    // it.
    let broken = compare(&troubled(|_| 1_000, 1.0), &before);
    assert!(broken.missing.is_empty() && broken.is_worse(0.02), "{broken:?}");
}

#[test]
fn what_was_asked_of_others_or_otherwise_is_refused_by_name() {
    let changed = |from: &str, to: &str| {
        let scenario = SCENARIO.replace(from, to);
        assert_ne!(scenario, SCENARIO);
        let compared = gate(|after| drop(after.meta.insert("scenario".to_owned(), scenario.clone())));
        assert!(compared.is_worse(0.02), "{from}");
        compared.missing.join("\n")
    };
    let top = "repeats = 8\n";
    let setup = |table: &str| format!("{table}\n\n[[test]]\nname = \"a\"");
    let first = "[[test]]\nname = \"a\"";
    for (from, to, said) in [
        (first, setup("[balancer]\ncheck = \"/health\""), "differ in balancer: check is \"\" in the first"),
        (first, setup("[balancer]\nworkers = 2"), "differ in balancer: workers is 1 in the first"),
        (first, setup("[servers]\ndelay = \"5ms\"\nconcurrency = 3"), "concurrency is [] in the first"),
        (top, format!("{top}warm-up = \"7s\"\n"), "differ in warm-up"),
        (
            "\"haproxy\"]",
            "{ product = \"nginx\", name = \"haproxy\" }]".to_owned(),
            "haproxy is another one: product is \"haproxy\" in the first file, \"nginx\" in the second",
        ),
        (top, format!("{top}algorithms = \"random\"\n"), "weir is another one: scheme is "),
    ] {
        let found = changed(from, &to);
        assert!(found.contains(said), "{said}: {found}");
    }
    let pair = |interval: &str| {
        let mut all = results(1.0);
        let table = format!(
            "[topology]\nkind = \"namespaces\"\n[balancer]\npair = {{ interval = \"{interval}\" }}\n\n{first}"
        );
        all.meta.insert("scenario".to_owned(), SCENARIO.replacen(first, &table, 1));
        Analysis::of(all).unwrap()
    };
    let compared = compare(&pair("200ms"), &pair("1s"));
    assert!(compared.missing.join("").contains("differ in balancer: pair is {\"interval\":"), "{compared:?}");
}

#[test]
fn verdicts_that_both_files_share_are_counted_and_others_named() {
    let same = gate(|_| {}).verdicts;
    assert_eq!((same.same, same.weaker.len(), same.contradictory.len()), (2, 0, 0));
    let changed = compare(&analysis(0.8), &analysis(1.0)).verdicts;
    assert_eq!((changed.same, changed.weaker.len(), changed.count()), (0, 0, 2));
    let expected = "weir / haproxy, mean: weir is better in the first file, there is no difference that matters in the second";
    assert_eq!(changed.contradictory[0], expected);
    // An undecided file does not contradict a verdict.
    let unsure = compare(&analysis(0.8), &Analysis::of(torn_apart()).unwrap()).verdicts;
    assert_eq!((unsure.same, unsure.contradictory.len()), (0, 0));
    let expected = "weir / haproxy, mean: weir is better in the first file, it is undecided in the second";
    assert_eq!(unsure.weaker[0], expected);
    assert_eq!(compare(&analysis(0.8), &analysis(1.3)).verdicts.contradictory.len(), 2);
}

#[test]
fn verdicts_by_another_margin_are_noted() {
    let strict = format!("margin = 0.01{SCENARIO}");
    let compared = gate(|after| drop(after.meta.insert("scenario".to_owned(), strict.clone())));
    let expected =
        "verdicts: differences up to 0.05 do not matter in the first file, up to 0.01 in the second";
    assert_eq!(compared.notes, [expected]);
}
