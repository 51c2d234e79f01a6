//! `weir lab compare`.

use std::process::ExitCode;

use serde_json::json;
use weir_lab::contest::{Regression, compare};

use super::arguments::CompareArgs;
use super::files;
use crate::check::print_out;

pub(super) fn run(args: &CompareArgs) -> Result<ExitCode, String> {
    let (before, after) = (files::read(&args.before)?, files::read(&args.after)?);
    let compared = compare(&before, &after);
    if compared.is_empty() {
        return Err("the two have no case and rival in common that is valid in both".to_owned());
    }
    let worse = compared.iter().filter(|one| one.is_worse(args.tolerance)).count();
    let text = if args.json { to_json(&compared, args.tolerance) } else { lines(&compared, args.tolerance) };
    let printed = print_out(&text);
    Ok(if worse > 0 { ExitCode::from(1) } else { printed })
}

fn lines(compared: &[Regression], tolerance: f64) -> String {
    let mut out = String::new();
    for one in compared {
        let said = match (one.is_worse(tolerance), one.differs(tolerance)) {
            (true, _) => "WORSE",
            (false, true) => "better",
            (false, false) => "no difference shown",
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

fn to_json(compared: &[Regression], tolerance: f64) -> String {
    let entry = |one: &Regression| {
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
        })
    };
    format!("{}\n", compared.iter().map(entry).collect::<serde_json::Value>())
}
