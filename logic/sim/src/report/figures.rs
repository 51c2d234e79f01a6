//! Figures of a report: means over seeds with confidence intervals.

use serde::Serialize;
use weir_config::simulation::Measure;
use weir_stats::Interval;

use crate::Run;

/// A mean over seeds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Figure {
    /// The mean.
    pub mean: f64,
    /// Lower end of its 95 percent confidence interval; `None` with a single seed.
    pub low: Option<f64>,
    /// Upper end of the interval.
    pub high: Option<f64>,
}

/// Latencies in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Latency {
    /// The mean.
    pub mean: Figure,
    /// Median: half of all requests were faster.
    pub p50: Figure,
    /// 95 percent were faster.
    pub p95: Figure,
    /// 99 percent were faster.
    pub p99: Figure,
    /// 99.9 percent were faster.
    #[serde(rename = "p99.9")]
    pub p999: Figure,
}

/// Utilisation over all servers; 1 = every slot was always in use.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Utilisation {
    /// Utilisation of the least used server.
    pub min: Figure,
    /// The mean.
    pub mean: Figure,
    /// Utilisation of the most used server.
    pub max: Figure,
}

impl Figure {
    /// Creates the figure from one value for each seed.
    pub fn of(values: &[f64]) -> Self {
        let mean = weir_stats::mean(values).unwrap_or(0.0);
        let interval = Interval::of(values);
        Self {
            mean,
            low: interval.map(|interval| interval.low),
            high: interval.map(|interval| interval.high),
        }
    }

    /// Returns half the width of the interval.
    pub fn margin(&self) -> Option<f64> {
        let (low, high) = (self.low?, self.high?);
        Some((high - low) / 2.0)
    }

    /// Returns half the width of the interval as a share of the mean.
    pub fn margin_share(&self) -> Option<f64> {
        self.margin().filter(|_| self.mean != 0.0).map(|margin| margin / self.mean.abs())
    }
}

impl Latency {
    pub(super) fn of(runs: &[Run]) -> Self {
        let figure = |measure| Figure::of(&runs.iter().map(|run| latency(run, measure)).collect::<Vec<_>>());
        Self {
            mean: figure(Measure::Mean),
            p50: figure(Measure::P50),
            p95: figure(Measure::P95),
            p99: figure(Measure::P99),
            p999: figure(Measure::P999),
        }
    }
}

/// Returns a run's latency in seconds.
pub(super) fn latency(run: &Run, measure: Measure) -> f64 {
    match measure {
        Measure::Mean => run.mean_s(),
        Measure::P50 => run.quantile_s(0.5),
        Measure::P95 => run.quantile_s(0.95),
        Measure::P99 => run.quantile_s(0.99),
        Measure::P999 => run.quantile_s(0.999),
    }
}
