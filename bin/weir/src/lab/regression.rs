//! `weir lab compare`.

use std::process::ExitCode;

use serde_json::json;
use weir_lab::contest::{Comparison, Regression, compare};

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
        (_, _, true) => Err("the first file has no valid run to measure the second by".to_owned()),
        // A gate that cannot close is none.
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
    for missing in &compared.missing {
        out.push_str(&format!("{missing}: WORSE\n"));
    }
    for one in compared.failures.iter().filter(|one| one.is_worse || one.before > 0.0 || one.after > 0.0) {
        let said = if one.is_worse { "WORSE" } else { "not more beyond chance" };
        out.push_str(&format!(
            "{}, {}, failed requests: {:.3}% -> {:.3}%: {said}\n",
            one.case,
            one.rival,
            one.before * 100.0,
            one.after * 100.0
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
            "worse": one.is_worse,
        })
    });
    let value = json!({
        "worse": compared.is_worse(tolerance),
        "missing": compared.missing,
        "notes": compared.notes,
        "failures": failures.collect::<Vec<_>>(),
        "figures": compared.figures.iter().map(figure).collect::<Vec<_>>(),
    });
    format!("{value}\n")
}
