//! Results of a comparison, and their JSON file.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;

use crate::error::{Context, Result};
use crate::machine::Machine;
use crate::rivals::Contestant;
use crate::scenario::Scenario;
use crate::{idle, latency, syscalls};

/// All results, as written to the JSON file.
#[derive(Debug, Serialize)]
pub(crate) struct Results {
    pub(crate) machine: Machine,
    /// Start in seconds since 1970.
    pub(crate) started_s: u64,
    pub(crate) turns: usize,
    pub(crate) turn_s: u64,
    pub(crate) connections: u32,
    pub(crate) contestants: Vec<Contestant>,
    pub(crate) scenarios: Vec<ScenarioResult>,
}

impl Results {
    /// Returns one sentence for each contestant without a sample in a scenario. A comparison without it is
    /// incomplete.
    pub(crate) fn silent(&self) -> Vec<String> {
        let mut all = Vec::new();
        for result in &self.scenarios {
            for (at, contestant) in self.contestants.iter().enumerate() {
                if result.samples.iter().all(|sample| sample.contestant != at) {
                    let why = result.failures.iter().find(|(name, _)| *name == contestant.name);
                    let why = why.map_or("no turn of it ran", |(_, why)| why.as_str());
                    all.push(format!(
                        "{}: {} was never measured: {why}",
                        result.scenario.name(),
                        contestant.name
                    ));
                }
            }
        }
        all
    }
}

/// Result of one scenario.
#[derive(Debug, Serialize)]
pub(crate) struct ScenarioResult {
    pub(crate) scenario: Scenario,
    pub(crate) samples: Vec<Sample>,
    /// Failed turns: contestant and reason. A first one is repeated; two end the contestant's part.
    pub(crate) failures: Vec<(String, String)>,
}

/// Result of one turn of one contestant.
#[derive(Debug, Serialize)]
pub(crate) struct Sample {
    /// Index in `contestants`.
    pub(crate) contestant: usize,
    /// Number of the turn. Samples of one turn were taken one after the other and are compared with each
    /// other.
    pub(crate) turn: usize,
    #[serde(flatten)]
    pub(crate) measured: Measured,
}

/// A measured value of one of the four kinds.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Measured {
    ClosedLoop(ClosedLoop),
    OpenLoop(latency::Sample),
    Memory { plain: idle::Sample, tls: idle::Sample },
    Syscalls(syscalls::Sample),
}

/// Result of one turn with a closed loop.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct ClosedLoop {
    pub(crate) cpu_us_per_request: f64,
    /// Time that the balancer's core was busy per request, including interrupts and kernel threads that no
    /// process is charged for. `None` for a balancer on both cores, because the load runs there, too.
    pub(crate) core_us_per_request: Option<f64>,
    pub(crate) requests_per_s: f64,
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
    /// Cores that the balancer used. Below 1.0 per worker, the load was the limit and not the balancer.
    pub(crate) cores_used: f64,
    /// Share of the machine's time that its host took away during the turn.
    pub(crate) stolen: f64,
}

impl Results {
    /// Writes the JSON file to `path` or under target/bench/. Returns its path.
    pub(crate) fn save(&self, path: Option<&Path>) -> Result<PathBuf> {
        save(self, path, self.started_s)
    }
}

/// Writes any results as JSON to `path` or under target/bench/. Returns the path.
pub(crate) fn save(results: &impl Serialize, path: Option<&Path>, started_s: u64) -> Result<PathBuf> {
    let path = path.map_or_else(|| PathBuf::from(format!("target/bench/{started_s}.json")), Path::to_owned);
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).context(parent.display())?;
    }
    let text = serde_json::to_string_pretty(results).context("the results")?;
    std::fs::write(&path, text + "\n").context(path.display())?;
    Ok(path)
}

/// Returns the current time in seconds since 1970.
pub(crate) fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

impl ScenarioResult {
    /// Returns a figure for each turn of a contestant, in the order of the turns.
    pub(crate) fn figures(
        &self,
        contestant: usize,
        figure: impl Fn(&Measured) -> Option<f64>,
    ) -> Vec<(usize, f64)> {
        let own = self.samples.iter().filter(|sample| sample.contestant == contestant);
        own.filter_map(|sample| Some((sample.turn, figure(&sample.measured)?))).collect()
    }

    /// Returns closed-loop figures, like [`figures`](Self::figures).
    pub(crate) fn closed(&self, contestant: usize, figure: impl Fn(&ClosedLoop) -> f64) -> Vec<(usize, f64)> {
        self.figures(contestant, |measured| match measured {
            Measured::ClosedLoop(sample) => Some(figure(sample)),
            _ => None,
        })
    }

    /// Returns open-loop figures of the turns that kept their schedule.
    pub(crate) fn open(
        &self,
        contestant: usize,
        figure: impl Fn(&latency::Sample) -> f64,
    ) -> Vec<(usize, f64)> {
        self.figures(contestant, |measured| match measured {
            Measured::OpenLoop(sample) if sample.valid => Some(figure(sample)),
            _ => None,
        })
    }
}
