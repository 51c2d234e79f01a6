//! The figures of each priority.

use serde::Serialize;
use weir_config::simulation::PriorityShare;

use super::Figure;
use crate::{PriorityRun, Run};

/// Result of the requests of one priority: means over seeds, with their confidence intervals.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PriorityReport {
    /// Priority class; the lowest is served first.
    pub class: i16,
    /// Amount by which a request counts as having arrived later (negative: earlier) within its class.
    pub offset_ms: i32,
    /// Median latency of the answered requests, in seconds.
    pub p50_s: Figure,
    /// 99th percentile of their latency.
    pub p99_s: Figure,
    /// Share of the requests without a response.
    pub error_share: Figure,
    /// Measured requests of all seeds.
    pub measured: u64,
}

/// Creates the results of all priorities; requests without a priority come first.
pub(super) fn of(runs: &[Run], parts: &[PriorityShare]) -> Vec<PriorityReport> {
    if parts.is_empty() {
        return Vec::new();
    }
    let others = PriorityShare { share: 0.0, class: 0, offset_ms: 0 };
    std::iter::once(&others).chain(parts).enumerate().map(|(at, part)| report(runs, at, part)).collect()
}

fn report(runs: &[Run], at: usize, part: &PriorityShare) -> PriorityReport {
    let of_part = || runs.iter().filter_map(move |run| run.priorities.get(at));
    let figure = |value: &dyn Fn(&PriorityRun) -> f64| Figure::of(&of_part().map(value).collect::<Vec<_>>());
    let quantile =
        |quantile| figure(&|run: &PriorityRun| run.latency.quantile(quantile).unwrap_or(0) as f64 / 1e6);
    PriorityReport {
        class: part.class,
        offset_ms: part.offset_ms,
        p50_s: quantile(0.5),
        p99_s: quantile(0.99),
        error_share: figure(&|run: &PriorityRun| run.failed as f64 / run.measured.max(1) as f64),
        measured: of_part().map(|run| run.measured).sum(),
    }
}
