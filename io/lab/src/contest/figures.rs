//! What is measured of a run.

use weir_config::lab::Measure;

use crate::summary::{Summary, Times};

/// Every measure that the run has a figure for; `cpu_s` is the balancer's CPU time, `memory` its bytes.
pub(crate) fn of(summary: &Summary, cpu_s: Option<f64>, memory: Option<f64>) -> Vec<(Measure, f64)> {
    let mean = |times: &Times| (times.count > 0).then_some(times.mean);
    let latency = &summary.latency_ms;
    let figure = |measure| {
        let value = match measure {
            Measure::Mean => mean(latency),
            Measure::P50 => (latency.count > 0).then_some(latency.p50),
            Measure::P99 => (latency.count > 0).then_some(latency.p99),
            Measure::Connect => mean(&summary.connect_ms),
            Measure::Waiting => mean(&summary.waiting_ms),
            Measure::Rate => Some(summary.requests.succeeded_per_s),
            Measure::Cpu => cpu_s
                .filter(|_| summary.requests.answered > 0)
                .map(|seconds| seconds * 1e6 / summary.requests.answered as f64),
            Measure::Memory => memory.map(|bytes| bytes / 1_048_576.0),
        };
        value.map(|value| (measure, value))
    };
    Measure::ALL.into_iter().filter_map(figure).collect()
}
