//! `weir fleet backtest`: compares scaling policies on the same demand. This module reads rules and
//! recordings; `weir_sim` runs the simulation.

mod arguments;
mod demand;
mod rules;
mod table;
#[cfg(test)]
mod tests;

use std::fs;
use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;

use weir_config::scaling::NamedRules;
use weir_scale::Rules;
use weir_sim::{Demand, FleetReport, Outcome, World};

use crate::check::print_out;
use crate::ctl::table::Style;
pub(crate) use arguments::BacktestArgs;
use demand::Source;

/// Runs the backtest and prints the report.
pub(crate) fn run(args: &BacktestArgs) -> ExitCode {
    let report = match compare(args) {
        Ok(report) => report,
        Err(message) => return complain(&message),
    };
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
        && let Err(cause) = fs::write(path, weir_sim::fleet_html(&report))
    {
        return complain(&format!("{}: {cause}", path.display()));
    }
    print_out(&format!("{}\n", text.trim_end()))
}

fn complain(message: &str) -> ExitCode {
    eprintln!("weir fleet backtest: {message}");
    ExitCode::from(2)
}

fn compare(args: &BacktestArgs) -> Result<FleetReport, String> {
    let rules: Vec<(String, Arc<Rules>)> = rules::of(args)?
        .into_iter()
        .map(|NamedRules { name, rules }| (name.to_string(), Arc::new(rules)))
        .collect();
    let world = args.world();
    let source = Source::of(args)?;
    let seeds: Vec<u64> = (0..args.seeds).map(|at| args.seed.wrapping_add(at)).collect();
    let first = source.demand(args.seed);
    let outcomes = play(&rules, &world, &source, &seeds);
    let names = rules.into_iter().map(|(name, _)| name);
    Ok(FleetReport::new(&first, &world, args.seed, names.zip(outcomes).collect()))
}

/// Simulates each set of rules with each seed, in one thread for each set.
fn play(rules: &[(String, Arc<Rules>)], world: &World, source: &Source, seeds: &[u64]) -> Vec<Vec<Outcome>> {
    let one = |rules: &Arc<Rules>| -> Vec<Outcome> {
        let outcome = |seed: &u64| {
            let demand: std::borrow::Cow<'_, Demand> = source.demand(*seed);
            weir_sim::backtest(rules, world, &demand, *seed)
        };
        seeds.iter().map(outcome).collect()
    };
    thread::scope(|scope| {
        let workers: Vec<_> = rules.iter().map(|(_, rules)| scope.spawn(|| one(rules))).collect();
        // A thread that panicked has printed the reason. The results of the others are useless without it.
        workers.into_iter().map(|worker| worker.join().unwrap_or_default()).collect()
    })
}
