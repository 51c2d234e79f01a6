//! Runs every algorithm with every seed, on all cores. The order in which runs end does not affect the
//! results.

use std::io::BufRead;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::thread;

use weir_balance::Algorithm;
use weir_config::simulation::Scenario;
use weir_sim::Run;

use super::log::Log;
use super::progress::Progress;

type Outcome = Result<Run, String>;

/// Returns the runs of each algorithm in the order of the seeds, or the first error.
pub(super) fn run_all(
    scenario: &Scenario,
    log: Option<&Log>,
    threads: Option<NonZeroUsize>,
    progress: &Progress,
) -> Result<Vec<(Algorithm, Vec<Run>)>, String> {
    let seeds = scenario.seeds as usize;
    let jobs: Vec<(Algorithm, u64)> = scenario
        .algorithms
        .iter()
        .flat_map(|algorithm| (0..seeds as u64).map(move |at| (*algorithm, scenario.seed.wrapping_add(at))))
        .collect();
    let threads = threads.or_else(|| thread::available_parallelism().ok()).map_or(1, NonZeroUsize::get);
    let next = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    let outcomes: Mutex<Vec<Option<Outcome>>> = Mutex::new(jobs.iter().map(|_| None).collect());
    let work = || {
        while let Some((at, (algorithm, seed))) =
            Some(next.fetch_add(1, Relaxed)).and_then(|at| Some((at, *jobs.get(at)?)))
            && !failed.load(Relaxed)
        {
            let outcome = run_one(scenario, algorithm, seed, log, progress);
            failed.fetch_or(outcome.is_err(), Relaxed);
            progress.one_is_done();
            outcomes.lock().unwrap_or_else(PoisonError::into_inner)[at] = Some(outcome);
        }
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.min(jobs.len())).map(|_| scope.spawn(work)).collect();
        while workers.iter().any(|worker| !worker.is_finished()) {
            progress.show();
            thread::park_timeout(Progress::PERIOD);
        }
        progress.clear();
    });
    let outcomes = outcomes.into_inner().unwrap_or_else(PoisonError::into_inner);
    // Jobs are left out only after one has failed, and then the error of that one is returned.
    let runs: Vec<Run> = outcomes.into_iter().flatten().collect::<Result<_, _>>()?;
    let mut runs = runs.into_iter();
    Ok(scenario
        .algorithms
        .iter()
        .map(|algorithm| (*algorithm, runs.by_ref().take(seeds).collect()))
        .collect())
}

fn run_one(
    scenario: &Scenario,
    algorithm: Algorithm,
    seed: u64,
    log: Option<&Log>,
    progress: &Progress,
) -> Outcome {
    let mut reader = log.map(Log::open).transpose()?;
    let text = reader.as_mut().map(|reader| reader as &mut dyn BufRead);
    let mut told = 0;
    let mut tell = |done: u64| {
        progress.requests_are_done(done - told);
        told = done;
    };
    weir_sim::run(scenario, algorithm, seed, text, &mut tell)
        .map_err(|cause| format!("{}: {cause}", log.map_or("", |log| log.name.as_str())))
}
