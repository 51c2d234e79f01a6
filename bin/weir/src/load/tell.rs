//! Writes the result of a run to standard output and files.

use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;

use weir_lab::{Run, read_run, report};

use super::arguments::{Form, FormArgs};
use crate::check::print_out;

/// Writes the requested reports; `kept` is the file with every request. The exit status shows if the run is
/// valid and if the server met the expectations.
pub(super) fn tell(run: &mut Run, args: &FormArgs, kept: Option<&Path>) -> Result<ExitCode, String> {
    run.head.expected.accept_late |= args.accept_late;
    let run = &*run;
    if let Some(path) = &args.html {
        fs::write(path, report::html(run)).map_err(|cause| format!("{}: {cause}", path.display()))?;
    }
    if let (Some(path), Some(kept)) = (&args.gnuplot, kept) {
        gnuplot(kept, path).map_err(|cause| format!("{}: {cause}", path.display()))?;
    }
    let form = if args.json { &Form::Json } else { &args.form };
    let text = match form {
        Form::Text => report::text(run),
        Form::Json => {
            let text = serde_json::to_string(&run.summary()).map_err(|cause| cause.to_string())?;
            format!("{text}\n")
        }
        Form::Ab => report::ab(run),
        Form::Httperf => report::httperf(run),
        Form::Vegeta => report::vegeta_text(run),
        Form::VegetaJson => report::vegeta_json(run),
        Form::VegetaHistogram(buckets) => {
            report::vegeta_histogram(run, buckets).map_err(|cause| format!("--report: {cause}"))?
        }
        Form::Hdr => report::hdr(run),
    };
    let printed = print_out(&text);
    let flaws = run.flaws();
    // The formats of other generators have no field for flaws.
    if !matches!(form, Form::Text | Form::Json) {
        flaws.iter().for_each(|flaw| eprintln!("weir load: INVALID: {}", flaw.text));
        run.marks().iter().for_each(|mark| eprintln!("weir load: accepted: {}", mark.text));
        if let Some(failed) = run.server_failed() {
            eprintln!("weir load: the server failed: {failed}");
        }
        if let Some(failures) = run.tolerated_failures() {
            eprintln!("weir load: tolerated failures: {failures}");
        }
        if let Some(uploads) = run.uploads().filter(|uploads| uploads.unverified > 0) {
            eprintln!("weir load: {} uploads are not verified", uploads.unverified);
        }
    }
    let is_good = flaws.is_empty() && run.server_failed().is_none();
    Ok(if printed == ExitCode::SUCCESS && !is_good { ExitCode::from(1) } else { printed })
}

/// Writes every request in the format of ab's -g, in the order of the responses.
fn gnuplot(kept: &Path, path: &Path) -> Result<(), String> {
    let text = |cause: std::io::Error| cause.to_string();
    let mut out = BufWriter::new(File::create(path).map_err(text)?);
    out.write_all(report::AB_TSV_HEADING.as_bytes()).map_err(text)?;
    let mut line = String::new();
    let mut written = Ok(());
    let mut input = BufReader::with_capacity(1 << 20, File::open(kept).map_err(text)?);
    read_run(&mut input, |head, record| {
        if written.is_ok() && record.fault.is_none() {
            line.clear();
            report::append_ab_tsv(&mut line, head.started_unix_ns, record);
            written = out.write_all(line.as_bytes());
        }
    })
    .map_err(|cause| cause.to_string())?;
    written.and_then(|()| out.flush()).map_err(text)
}
