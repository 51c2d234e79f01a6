//! Computes the measures of a run.

use serde_json::{Value, json};
use weir_config::lab::Measure;

use crate::summary::{Summary, Times};
use crate::tally::Tally;

/// Data about a run in addition to its summary.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Seen {
    /// The balancer's CPU time, in seconds.
    pub(crate) cpu_s: Option<f64>,
    /// The servers' CPU time, in seconds.
    pub(crate) server_cpu_s: Option<f64>,
    /// The CPU time of the whole machine, in seconds.
    pub(crate) machine_cpu_s: Option<f64>,
    /// The balancer's memory, in bytes.
    pub(crate) memory: Option<f64>,
    /// The servers' memory, in bytes.
    pub(crate) server_memory: Option<f64>,
    /// Mean number of running servers, if they come and go.
    pub(crate) servers: Option<f64>,
    /// In cases with trouble: the longest time without a response, in milliseconds.
    pub(crate) outage_ms: Option<f64>,
    /// In cases with trouble: the time from the first failed request to the last, in milliseconds.
    pub(crate) recovery_ms: Option<f64>,
}

/// Returns every measure for which the run has a value.
pub(crate) fn of(summary: &Summary, seen: Seen) -> Vec<(Measure, f64)> {
    let mean = |times: &Times| (times.count > 0).then_some(times.mean);
    let latency = &summary.latency_ms;
    let answered = summary.requests.answered;
    let each_us =
        |cpu_s: Option<f64>| cpu_s.filter(|_| answered > 0).map(|seconds| seconds * 1e6 / answered as f64);
    let share = summary.requests.succeeded as f64 * 100.0 / summary.requests.sent.max(1) as f64;
    let figure = |measure| {
        let value = match measure {
            Measure::Mean => mean(latency),
            Measure::P50 => (latency.count > 0).then_some(latency.p50),
            Measure::P99 => (latency.count > 0).then_some(latency.p99),
            Measure::P90 => (latency.count > 0).then_some(latency.p90),
            Measure::P95 => (latency.count > 0).then_some(latency.p95),
            Measure::Max => (latency.count > 0).then_some(latency.max),
            Measure::Deviation => (latency.count > 0).then_some(latency.deviation),
            Measure::Success => (summary.requests.sent > 0).then_some(share),
            Measure::ServerMemory => seen.server_memory.map(|bytes| bytes / 1_048_576.0),
            Measure::Session => summary
                .facts
                .as_ref()
                .and_then(|facts| facts.sessions)
                .filter(|sessions| sessions.complete > 0)
                .map(|sessions| sessions.mean_ms),
            Measure::Connect => mean(&summary.connect_ms),
            Measure::Waiting => mean(&summary.waiting_ms),
            Measure::Rate => Some(summary.requests.succeeded_per_s),
            Measure::Cpu => each_us(seen.cpu_s),
            Measure::ServerCpu => each_us(seen.server_cpu_s),
            Measure::MachineCpu => each_us(seen.machine_cpu_s),
            Measure::Memory => seen.memory.map(|bytes| bytes / 1_048_576.0),
            Measure::Servers => seen.servers,
            Measure::Outage => seen.outage_ms,
            Measure::Recovery => seen.recovery_ms,
            Measure::Answered => seen.recovery_ms.map(|_| share),
        };
        value.map(|value| (measure, value))
    };
    Measure::ALL.into_iter().filter_map(figure).collect()
}

/// Returns every distribution by name, as buckets in nanoseconds: from, to, count. `latency` counts from the
/// due time of a request, `raw` from its start. `failed` has the requests without a response.
pub(crate) fn histograms(tally: &Tally) -> Value {
    let all = [
        ("latency", &tally.all.latency),
        ("raw", &tally.raw),
        ("connect", &tally.connect),
        ("waiting", &tally.waiting),
        ("processing", &tally.processing),
        ("transfer", &tally.transfer),
        ("failed", &tally.failed),
    ];
    all.into_iter().map(|(name, of)| (name.to_owned(), json!(of.buckets().collect::<Vec<_>>()))).collect()
}
