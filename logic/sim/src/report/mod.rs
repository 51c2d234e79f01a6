//! The report of a comparison: the runs of all algorithms and seeds.

pub mod chart;
mod figures;
mod html;
mod priorities;
mod recommendation;
#[cfg(test)]
mod tests;
mod words;

use serde::Serialize;
use weir_balance::Algorithm;
use weir_config::simulation::Scenario;
use weir_stats::{Histogram, Resolution};

use crate::{Errors, Run, Series};
pub use figures::{Figure, Latency, Utilisation};
pub use html::html;
pub use priorities::PriorityReport;
pub use recommendation::{Recommendation, Tie};

/// Result of a comparison of algorithms.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Scenario that was simulated.
    pub scenario: Scenario,
    /// Description of the scenario in words, one item for each line.
    pub description: Vec<String>,
    /// Results of the algorithms, the best first.
    pub algorithms: Vec<AlgorithmReport>,
    /// Recommendation that follows from the results.
    pub recommendation: Recommendation,
    /// Remarks that are needed to judge the figures.
    pub notes: Vec<String>,
}

/// Result of one algorithm: means over seeds, with their confidence intervals.
#[derive(Debug, Clone, Serialize)]
pub struct AlgorithmReport {
    /// Algorithm of this result.
    pub algorithm: Algorithm,
    /// Position in the ranking, from 1.
    pub rank: usize,
    /// Latencies in seconds.
    pub latency_s: Latency,
    /// Share of requests without a response.
    pub error_share: Figure,
    /// Number of errors of all seeds, by cause.
    pub errors: Errors,
    /// Share of the servers' slots in use.
    pub utilisation: Utilisation,
    /// Utilisation of the busiest server / mean of all; 1 = even.
    pub imbalance: Figure,
    /// Mean number over time of requests that waited, at servers and in the balancer.
    pub queue_mean: Figure,
    /// Most requests waiting at the same time, in any run.
    pub queue_max: u64,
    /// Most requests waiting at the same time, as the mean over runs.
    pub queue_peak: Figure,
    /// Share of requests whose URI was in the server's cache; `None` without caches.
    pub cache_hit_share: Option<Figure>,
    /// Share of returning clients that were moved unnecessarily; with `sticky`, that were moved for any
    /// reason. `None` = no client returned.
    pub moved_share: Option<Figure>,
    /// Second tries in parallel to slow first ones / requests; `None` without `hedge`.
    pub hedge_share: Option<Figure>,
    /// Share of second tries that were answered first; `None` without `hedge`.
    pub hedge_won_share: Option<Figure>,
    /// Results of requests without one of the scenario's priorities, then of each priority; empty without
    /// priorities.
    pub priorities: Vec<PriorityReport>,
    /// Measured requests of all seeds.
    pub measured: u64,
    /// Latencies of all seeds together.
    #[serde(skip)]
    pub latencies: Histogram,
    /// Utilisation of each server in the scenario's order.
    #[serde(rename = "server_utilisation")]
    pub servers: Vec<Figure>,
    /// Final weight of each server in the same order, if weights are automatic; else empty.
    pub found_weights: Vec<Figure>,
    /// Waiting requests over time, of the first seed.
    #[serde(skip)]
    pub queue: Series,
    /// Latency that determines the ranking, of each seed.
    #[serde(skip)]
    pub(crate) ranked: Vec<f64>,
}

impl Report {
    /// Creates the report from the runs of each algorithm, in the order of the seeds.
    ///
    /// # Errors
    /// If a run has measured nothing, because the log ended before the warm-up.
    pub fn new(scenario: &Scenario, results: &[(Algorithm, Vec<Run>)]) -> Result<Self, String> {
        if results.iter().flat_map(|(_, runs)| runs).any(|run| run.measured == 0) {
            return Err(format!(
                "nothing was measured: fewer requests came than the {} of the warm-up",
                scenario.warm_up
            ));
        }
        let mut algorithms: Vec<AlgorithmReport> = results
            .iter()
            .map(|(algorithm, runs)| AlgorithmReport::new(*algorithm, runs, scenario))
            .collect();
        rank(&mut algorithms);
        let recommendation = Recommendation::new(scenario, &algorithms);
        let has_sizes = results.iter().flat_map(|(_, runs)| runs).any(|run| run.bytes > 0);
        let skipped = results.first().and_then(|(_, runs)| runs.first()).map_or(0, |run| run.skipped);
        Ok(Self {
            description: words::describe(scenario),
            notes: words::notes(scenario, &algorithms, has_sizes, skipped),
            scenario: scenario.clone(),
            algorithms,
            recommendation,
        })
    }
}

impl AlgorithmReport {
    fn new(algorithm: Algorithm, runs: &[Run], scenario: &Scenario) -> Self {
        let figure = |value: fn(&Run) -> f64| Figure::of(&runs.iter().map(value).collect::<Vec<_>>());
        let optional = |value: fn(&Run) -> Option<f64>| {
            runs.iter().map(value).collect::<Option<Vec<f64>>>().map(|values| Figure::of(&values))
        };
        let hedge = scenario.balancer.hedge.as_ref();
        let mut latencies = Histogram::new(Resolution::Precise);
        runs.iter().for_each(|run| latencies.merge(&run.latency));
        let mut errors = Errors::default();
        for run in runs {
            errors.refused += run.errors.refused;
            errors.broken += run.errors.broken;
            errors.timed_out += run.errors.timed_out;
            errors.queue_full += run.errors.queue_full;
            errors.hopeless += run.errors.hopeless;
            errors.breaker += run.errors.breaker;
        }
        let servers = runs.first().map_or(0, |run| run.utilisation.len());
        let of_server =
            |at: usize| Figure::of(&runs.iter().map(|run| run.utilisation[at]).collect::<Vec<_>>());
        Self {
            algorithm,
            rank: 0,
            latency_s: Latency::of(runs),
            error_share: figure(|run| run.errors.total() as f64 / run.measured.max(1) as f64),
            errors,
            utilisation: Utilisation {
                min: figure(|run| run.utilisation.iter().copied().fold(f64::INFINITY, f64::min)),
                mean: figure(mean_utilisation),
                max: figure(max_utilisation),
            },
            imbalance: figure(|run| match mean_utilisation(run) {
                mean if mean > 0.0 => max_utilisation(run) / mean,
                _ => 1.0,
            }),
            queue_mean: figure(|run| run.queue_mean),
            queue_max: runs.iter().map(|run| run.queue_max).max().unwrap_or(0),
            queue_peak: figure(|run| run.queue_max as f64),
            cache_hit_share: optional(|run| run.cache.map(|(hits, asked)| hits as f64 / asked.max(1) as f64)),
            moved_share: optional(|run| run.moved_share),
            hedge_share: hedge.map(|_| figure(|run| run.hedges as f64 / run.measured.max(1) as f64)),
            hedge_won_share: hedge.map(|_| figure(|run| run.hedges_won as f64 / run.hedges.max(1) as f64)),
            priorities: priorities::of(runs, &scenario.priorities),
            measured: runs.iter().map(|run| run.measured).sum(),
            latencies,
            servers: (0..servers).map(of_server).collect(),
            found_weights: found_weights(runs),
            queue: runs.first().map_or_else(Series::new, |run| run.queue.clone()),
            ranked: runs.iter().map(|run| figures::latency(run, scenario.rank_by)).collect(),
        }
    }

    /// Returns the latency that determines the ranking, in seconds.
    pub fn ranked_s(&self) -> f64 {
        weir_stats::mean(&self.ranked).unwrap_or(0.0)
    }
}

fn found_weights(runs: &[Run]) -> Vec<Figure> {
    let servers = runs.first().map_or(0, |run| run.found_weights.len());
    let of_server = |at: usize| {
        let weights = runs.iter().filter_map(|run| run.found_weights.get(at));
        Figure::of(&weights.copied().map(f64::from).collect::<Vec<_>>())
    };
    (0..servers).map(of_server).collect()
}

/// Share of all requests by which errors may exceed the fewest. Beyond it, errors outweigh any latency.
const ERROR_SHARE_TOLERATED: f64 = 0.001;

fn rank(algorithms: &mut [AlgorithmReport]) {
    let errors = |report: &AlgorithmReport| report.error_share.mean;
    let fewest = algorithms.iter().map(errors).fold(f64::INFINITY, f64::min);
    let fails = |report: &AlgorithmReport| errors(report) > fewest + ERROR_SHARE_TOLERATED;
    algorithms.sort_by(|a, b| {
        let by_errors = if fails(a) { errors(a).total_cmp(&errors(b)) } else { std::cmp::Ordering::Equal };
        // The sort is stable: of equals, the one that the scenario names first comes first.
        fails(a).cmp(&fails(b)).then(by_errors).then(a.ranked_s().total_cmp(&b.ranked_s()))
    });
    for (index, report) in algorithms.iter_mut().enumerate() {
        report.rank = index + 1;
    }
}

fn mean_utilisation(run: &Run) -> f64 {
    weir_stats::mean(&run.utilisation).unwrap_or(0.0)
}

fn max_utilisation(run: &Run) -> f64 {
    run.utilisation.iter().copied().fold(0.0, f64::max)
}
