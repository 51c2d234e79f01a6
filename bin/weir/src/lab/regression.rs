//! `weir lab compare`: compares the results of two runs.

use std::process::ExitCode;

use serde_json::json;
use weir_lab::contest::{Comparison, Regression, Verdicts, compare};

use super::arguments::CompareArgs;
use super::files;
use crate::check::print_out;

pub(super) fn run(args: &CompareArgs) -> Result<ExitCode, String> {
    let (before, after) = (files::read(&args.before)?, files::read(&args.after)?);
    let compared = compare(&before, &after);
    let text = if args.json { to_json(&compared, args.tolerance) } else { lines(&compared, args.tolerance) };
    let printed = print_out(&text);
    match (compared.is_worse(args.tolerance), compared.is_hopeless(), compared.figures.is_empty()) {
        (true, _, _) => Ok(ExitCode::from(1)),
        _ if !compared.unknown.is_empty() => {
            Err("of the second file not all is measured, by no fault of who was: play it again".to_owned())
        }
        (_, _, true) => Err("the first file has no valid run to measure the second by".to_owned()),
        // A gate that can never fail is useless.
        (_, true, _) => {
            Err("too few runs: what is marked so could not be shown to be worse, however much it is"
                .to_owned())
        }
        _ => Ok(printed),
    }
}

fn lines(compared: &Comparison, tolerance: f64) -> String {
    let mut out = String::new();
    for note in &compared.notes {
        out.push_str(&format!("note: {note}\n"));
    }
    for run in &compared.unmeasured {
        out.push_str(&format!("not measured: {run}\n"));
    }
    for missing in &compared.missing {
        out.push_str(&format!("{missing}: WORSE\n"));
    }
    for unknown in &compared.unknown {
        out.push_str(&format!("{unknown}: not known\n"));
    }
    for one in compared.failures.iter().filter(|one| !one.is_none()) {
        let said = match (one.is_worse(), one.is_hopeless()) {
            (true, _) => "WORSE",
            (false, true) => "too few runs to say",
            (false, false) => "not more beyond chance",
        };
        out.push_str(&format!(
            "{}, {}, failed requests: {:.3}% -> {:.3}% (probability {:.3}): {said}\n",
            one.case,
            one.rival,
            one.before * 100.0,
            one.after * 100.0,
            one.adjusted
        ));
    }
    for one in &compared.figures {
        let said = match (one.is_worse(tolerance), one.differs(tolerance), one.is_hopeless()) {
            (true, _, _) => "WORSE",
            (false, true, _) => "better",
            (false, false, true) => "too few runs to say",
            (false, false, false) => "no difference shown",
        };
        out.push_str(&format!(
            "{}, {}, {}: {:.4} -> {:.4} (x {:.3}, probability {:.3}): {said}\n",
            one.case,
            one.rival,
            one.measure.name(),
            one.before.median,
            one.after.median,
            one.ratio(),
            one.adjusted
        ));
    }
    let Verdicts { same, weaker, contradictory } = &compared.verdicts;
    for (how, verdicts) in [("shown by one of them only", weaker), ("CONTRADICTORY", contradictory)] {
        for verdict in verdicts {
            out.push_str(&format!("verdict over all cases, {how}: {verdict}\n"));
        }
    }
    let worse = compared.figures.iter().filter(|one| one.is_worse(tolerance)).count();
    out.push_str(&format!(
        "{worse} of {} figures are worse by over {}% beyond chance; {same} of {} verdicts over all cases are the same, {} are shown by one of them \
         only, {} contradict each other\n",
        compared.figures.len(),
        tolerance * 100.0,
        compared.verdicts.count(),
        weaker.len(),
        contradictory.len()
    ));
    out
}

fn to_json(compared: &Comparison, tolerance: f64) -> String {
    let figure = |one: &Regression| {
        json!({
            "case": one.case,
            "rival": one.rival,
            "measure": one.measure,
            "before": one.before.median,
            "after": one.after.median,
            "ratio": one.ratio(),
            "probability": one.adjusted,
            "worse": one.is_worse(tolerance),
            "differs": one.differs(tolerance),
            "too_few_runs": one.is_hopeless(),
        })
    };
    let failures = compared.failures.iter().map(|one| {
        json!({
            "case": one.case,
            "rival": one.rival,
            "before": one.before,
            "after": one.after,
            "probability": one.adjusted,
            "worse": one.is_worse(),
        })
    });
    let value = json!({
        "worse": compared.is_worse(tolerance),
        "missing": compared.missing,
        "unknown": compared.unknown,
        "unmeasured": compared.unmeasured,
        "verdicts": {
            "same": compared.verdicts.same,
            "weaker": compared.verdicts.weaker,
            "contradictory": compared.verdicts.contradictory,
        },
        "notes": compared.notes,
        "failures": failures.collect::<Vec<_>>(),
        "figures": compared.figures.iter().map(figure).collect::<Vec<_>>(),
    });
    format!("{value}\n")
}
