//! `weir load`: generates load, shows progress and reports the result. `weir_lab` does the work.

mod arguments;
mod live;
mod others;
mod plan;
mod tell;
#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{self, BufReader, IsTerminal};
use std::path::Path;
use std::process::ExitCode;

use tempfile::NamedTempFile;
use weir_lab::{Run, Running};

pub(crate) use arguments::LoadArgs;
use arguments::{LoadVerb, MakeArgs, ReportArgs};
use live::View;
use others::Translated;

/// Runs the subcommand.
pub(crate) fn run(args: &LoadArgs) -> ExitCode {
    let told = match &args.verb {
        Some(LoadVerb::Report(args)) => report(args),
        Some(LoadVerb::Ab(args)) => args.translated().and_then(|translated| make_translated(&translated)),
        Some(LoadVerb::Httperf(args)) => {
            args.translated().and_then(|translated| make_translated(&translated))
        }
        None => make(&args.load),
    };
    told.unwrap_or_else(|message| {
        eprintln!("weir load: {message}");
        ExitCode::from(2)
    })
}

fn make_translated(translated: &Translated) -> Result<ExitCode, String> {
    eprintln!("weir load: this is {}", translated.line);
    make(&translated.args)
}

fn make(args: &MakeArgs) -> Result<ExitCode, String> {
    let mut notes = Vec::new();
    let mut load = plan::load(args, &mut notes)?;
    notes.iter().for_each(|note| eprintln!("weir load: {note}"));
    // The file in ab's format has every request, so they are stored until it is written.
    let kept = match (&load.output, &args.form.gnuplot) {
        (None, Some(_)) => Some(NamedTempFile::new().map_err(|cause| format!("a temporary file: {cause}"))?),
        _ => None,
    };
    if let Some(kept) = &kept {
        load.output = Some(kept.path().to_owned());
    }
    let output = load.output.clone();
    let view = if args.quiet {
        View::Nothing
    } else if io::stdin().is_terminal() && io::stdout().is_terminal() && io::stderr().is_terminal() {
        View::Screen
    } else {
        View::Lines
    };
    let mut running = Running::start(load).map_err(|cause| cause.to_string())?;
    live::watch(&mut running, view)?;
    let mut run = running.finish().map_err(|cause| cause.to_string())?;
    tell::tell(&mut run, &args.form, output.as_deref())
}

fn report(args: &ReportArgs) -> Result<ExitCode, String> {
    if args.file != Path::new("-") {
        let mut run = read(&args.file)?;
        return tell::tell(&mut run, &args.form, Some(&args.file));
    }
    if args.form.gnuplot.is_some() {
        return Err("--gnuplot reads the file a second time: standard input cannot be".to_owned());
    }
    let mut run = Run::read(&mut io::stdin().lock()).map_err(|cause| format!("standard input: {cause}"))?;
    tell::tell(&mut run, &args.form, None)
}

fn read(path: &Path) -> Result<Run, String> {
    let name = path.display();
    let file = File::open(path).map_err(|cause| format!("{name}: {cause}"))?;
    Run::read(&mut BufReader::with_capacity(1 << 20, file)).map_err(|cause| format!("{name}: {cause}"))
}
