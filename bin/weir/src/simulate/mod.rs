//! `weir simulate`: compares the balancing algorithms on simulated traffic. This module reads scenario,
//! config and log; `weir_sim` simulates.

mod arguments;
mod from_config;
mod jobs;
mod log;
mod progress;
mod table;
#[cfg(test)]
mod tests;

use std::fs;
use std::io::{self, IsTerminal};
use std::process::ExitCode;

use weir_config::Source;
use weir_config::simulation::{self, Scenario};
use weir_sim::Report;

use crate::check::{print_diagnostics, print_out};
use crate::ctl::table::Style;
pub(crate) use arguments::SimulateArgs;
use log::Log;
use progress::Progress;

/// Runs the verb.
pub(crate) fn run(args: &SimulateArgs) -> ExitCode {
    match simulate(args) {
        Ok(report) => {
            let text = if args.json {
                serde_json::to_string(&report).map_err(|cause| cause.to_string())
            } else {
                Ok(table::render(&report, Style::of(io::stdout().is_terminal())))
            };
            let text = match text {
                Ok(text) => text,
                Err(cause) => return complain(&cause),
            };
            if let Some(path) = &args.html
                && let Err(cause) = fs::write(path, weir_sim::html(&report))
            {
                return complain(&format!("{}: {cause}", path.display()));
            }
            print_out(&format!("{}\n", text.trim_end()))
        }
        Err(message) => complain(&message),
    }
}

fn complain(message: &str) -> ExitCode {
    eprintln!("weir simulate: {message}");
    ExitCode::from(2)
}

fn simulate(args: &SimulateArgs) -> Result<Report, String> {
    let mut scenario = read_scenario(args)?;
    if let Some(config) = &args.config {
        from_config::apply(&mut scenario, config, args.pool.as_deref(), args.replay.is_some())?;
    }
    args.override_in(&mut scenario)?;
    let log = Log::of(&scenario)?;
    let progress = Progress::new(&scenario, io::stderr().is_terminal());
    let results = jobs::run_all(&scenario, log.as_ref(), args.threads, &progress)?;
    Report::new(&scenario, &results)
}

/// Reads the scenario from the file, or returns the default scenario if there is no file.
fn read_scenario(args: &SimulateArgs) -> Result<Scenario, String> {
    let Some(path) = &args.scenario else { return Ok(Scenario::default()) };
    let text = fs::read_to_string(path).map_err(|cause| format!("{}: {cause}", path.display()))?;
    let source = Source::new(path.display().to_string(), text);
    simulation::load(&source, &|name| std::env::var(name).ok()).map_err(|diagnostics| {
        print_diagnostics(&diagnostics);
        format!("{}: the scenario is wrong", path.display())
    })
}
