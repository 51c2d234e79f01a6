//! `weir lab run`: runs a scenario and writes its report.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};

use weir_config::lab;
use weir_lab::contest::{Analysis, Play, PlayError, Store, play, report};

use super::arguments::RunArgs;
use super::{files, progress};
use crate::check::{print_diagnostics, print_out};
use crate::top::Termination;

pub(super) fn run(args: &RunArgs) -> Result<ExitCode, String> {
    let (source, stem) = files::scenario(&args.scenario)?;
    let loaded = lab::load(&source, args.quick, &|name| std::env::var(name).ok());
    let scenario = loaded.map_err(|diagnostics| {
        print_diagnostics(&diagnostics);
        format!("{}: the scenario is wrong", source.name)
    })?;
    let quick = if args.quick { "-quick" } else { "" };
    let output = args.output.clone().unwrap_or_else(|| PathBuf::from(format!("{stem}{quick}.sqlite")));
    let failed = |cause: &dyn std::fmt::Display| format!("{}: {cause}", output.display());
    let mut store = Store::open(&output).map_err(|cause| failed(&cause))?;
    let own = std::env::current_exe().map_err(|cause| format!("own program: {cause}"))?;
    let termination = Termination::listen().map_err(|cause| format!("signals: {cause}"))?;
    let what = Play { scenario: &scenario, source: &source, quick: args.quick, own: &own };
    // Stops the run when standard error is closed, as in `weir lab run ... 2>&1 | head`.
    let is_unheard = AtomicBool::new(false);
    let stop = || termination.came() || is_unheard.load(Ordering::Relaxed);
    let played = play(what, &mut store, &stop, &mut |event| {
        if !args.quiet && progress::tell(&event).is_err() {
            is_unheard.store(true, Ordering::Relaxed);
        }
    });
    let ended = match played {
        Ok(ended) => ended,
        Err(PlayError::At(diagnostic)) => {
            print_diagnostics(&[*diagnostic]);
            return Err(format!("{}: it cannot be played", source.name));
        }
        Err(PlayError::Other(cause)) => return Err(cause),
        Err(PlayError::Stopped) => {
            return Err(format!("stopped; started again, it goes on where it was ({})", output.display()));
        }
    };
    let results = store.read().map_err(|cause| failed(&cause))?;
    let analysis = Analysis::of(results).map_err(|cause| failed(&cause))?;
    files::write(&analysis, &args.forms)?;
    let printed = if args.forms.json {
        print_out(&format!("{}\n", files::to_json(&analysis)))
    } else {
        let said = report::verdict_by_figure(&analysis);
        print_out(&format!("{said}\n`weir lab report {}` tells all of it.\n", output.display()))
    };
    if !ended.is_empty() {
        return Err(format!("left out on the way, see the report: {}", ended.join(", ")));
    }
    let is_nothing = analysis.invalid().count() == analysis.results.runs.len();
    Ok(if is_nothing { ExitCode::from(1) } else { printed })
}
