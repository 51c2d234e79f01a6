//! Reads scenarios and results, and writes reports.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;
use std::process::ExitCode;

use serde_json::{Value, json};
use weir_config::{Source, closest};
use weir_lab::contest::{Analysis, Pair, SHIPPED, Shipped, Standing, Store, export, report};

use super::arguments::{FormArgs, ReportArgs};
use crate::check::print_out;

const SQLITE_MAGIC: &[u8] = b"SQLite format 3\0";

/// Returns the scenario in a file, or a built-in one, with the name for its results.
pub(super) fn scenario(name: &str) -> Result<(Source, String), String> {
    let path = Path::new(name);
    let looks_like_file = path.extension().is_some() || name.contains('/') || path.exists();
    if !looks_like_file {
        return shipped(name)
            .map(|shipped| (Source::new(shipped.name, shipped.text), shipped.name.to_owned()));
    }
    let text = fs::read_to_string(path).map_err(|cause| format!("{name}: {cause}"))?;
    let stem =
        path.file_stem().map_or_else(|| "results".to_owned(), |stem| stem.to_string_lossy().into_owned());
    Ok((Source::new(name, text), stem))
}

pub(super) fn shipped(name: &str) -> Result<&'static Shipped, String> {
    SHIPPED.iter().find(|shipped| shipped.name == name).ok_or_else(|| {
        let near = closest(name, SHIPPED.iter().map(|shipped| shipped.name));
        let hint = near.map_or_else(
            || "`weir lab list` lists them".to_owned(),
            |near| format!("did you mean {near:?}?"),
        );
        format!("no scenario {name:?} comes with Weir, and there is no such file: {hint}")
    })
}

pub(super) fn report(args: &ReportArgs) -> Result<ExitCode, String> {
    let analysis = read(&args.file)?;
    write(&analysis, &args.forms)?;
    let forms = &args.forms;
    if forms.json {
        return Ok(print_out(&format!("{}\n", to_json(&analysis))));
    }
    let is_written = forms.html.is_some() || forms.markdown.is_some() || forms.csv.is_some();
    Ok(if is_written { ExitCode::SUCCESS } else { print_out(&report::markdown(&analysis)) })
}

/// Prints the content of a results file as an export.
pub(super) fn export(path: &Path) -> Result<ExitCode, String> {
    let json = export::to_json(&read(path)?).map_err(|cause| format!("{}: {cause}", path.display()))?;
    Ok(print_out(&json))
}

/// Reads and analyses results, from the file of a run or from an export.
pub(super) fn read(path: &Path) -> Result<Analysis, String> {
    let failed = |cause: &dyn std::fmt::Display| format!("{}: {cause}", path.display());
    if !path.is_file() {
        return Err(failed(&"there is no such file"));
    }
    let results = match is_sqlite(path).map_err(|cause| failed(&cause))? {
        true => Store::read_only(path).and_then(|store| store.read()).map_err(|cause| failed(&cause))?,
        false => {
            let json = fs::read(path).map_err(|cause| failed(&cause))?;
            export::from_json(&json).map_err(|cause| failed(&cause))?
        }
    };
    Analysis::of(results).map_err(|cause| failed(&cause))
}

/// Returns whether a file begins as SQLite files do (<https://www.sqlite.org/fileformat.html>, section 1.3).
fn is_sqlite(path: &Path) -> io::Result<bool> {
    let mut start = Vec::new();
    File::open(path)?.take(SQLITE_MAGIC.len() as u64).read_to_end(&mut start)?;
    Ok(start == SQLITE_MAGIC)
}

/// Writes the report in every requested form.
pub(super) fn write(analysis: &Analysis, forms: &FormArgs) -> Result<(), String> {
    type Form = fn(&Analysis) -> String;
    for (path, form) in [
        (&forms.html, report::html as Form),
        (&forms.markdown, report::markdown as Form),
        (&forms.csv, report::csv as Form),
    ] {
        if let Some(path) = path {
            fs::write(path, form(analysis)).map_err(|cause| format!("{}: {cause}", path.display()))?;
        }
    }
    Ok(())
}

/// Returns the analysis as JSON.
pub(super) fn to_json(analysis: &Analysis) -> Value {
    let cell = |cell: &weir_lab::contest::Cell| {
        json!({
            "case": cell.case,
            "rival": cell.rival,
            "measure": cell.measure,
            "median": cell.estimate.median,
            "low": cell.estimate.low,
            "high": cell.estimate.high,
            "confidence": cell.estimate.confidence,
            "runs": cell.runs,
            "success": cell.success,
        })
    };
    let pair = |pair: &Pair| {
        json!({
            "measure": pair.measure,
            "case": pair.case,
            "one": pair.one,
            "other": pair.other,
            "ratio": pair.difference.ratio.median,
            "low": pair.difference.ratio.low,
            "high": pair.difference.ratio.high,
            "confidence": pair.difference.ratio.confidence,
            "pairs": pair.difference.pairs,
            "planned": pair.planned,
            "too_few_runs": pair.is_hopeless(),
            "probability": pair.adjusted,
            "margin": pair.margin,
            "one_is": match pair.standing() {
                Standing::Better => "better",
                Standing::Worse => "worse",
                Standing::Same => "same",
                Standing::Open => "open",
            },
        })
    };
    json!({
        "runs": analysis.results.runs.len(),
        "invalid": analysis.invalid().map(|run| json!({
            "case": run.case, "rival": run.rival, "repeat": run.repeat, "measured": run.is_measured(),
            "flaws": run.flaws.iter().map(|flaw| &flaw.text).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "left_out": analysis.results.rivals.iter().filter(|rival| !rival.left_out.is_empty()).map(|rival| json!({
            "rival": rival.rival, "why": rival.left_out,
        })).collect::<Vec<_>>(),
        "servers": analysis.results.runs.iter().filter(|run| run.is_valid()).map(|run| json!({
            "case": run.case, "rival": run.rival, "repeat": run.repeat,
            "of": run.servers.iter().map(|(name, requests, bytes)| json!({
                "server": name, "requests": requests, "bytes": bytes,
            })).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "verdict": report::verdict(analysis),
        "figures": analysis.cells.iter().map(cell).collect::<Vec<_>>(),
        "comparisons": analysis.pairs.iter().map(pair).collect::<Vec<_>>(),
    })
}
