use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;

use crate::error::{Context, Result};
use crate::machine::Machine;
use crate::rivals::Contestant;
use crate::scenario::Scenario;
use crate::{idle, latency, syscalls};

/// Everything that was measured, as it goes into the JSON file.
#[derive(Debug, Serialize)]
pub(crate) struct Results {
    pub(crate) machine: Machine,
    /// Seconds since 1970.
    pub(crate) started_s: u64,
    pub(crate) turns: usize,
    pub(crate) turn_s: u64,
    pub(crate) connections: u32,
    pub(crate) contestants: Vec<Contestant>,
    pub(crate) scenarios: Vec<ScenarioResult>,
}

impl Results {
    /// One sentence for each contestant that brought no figure in a scenario: a comparison without it is not the one that was asked for.
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

/// What one scenario brought.
#[derive(Debug, Serialize)]
pub(crate) struct ScenarioResult {
    pub(crate) scenario: Scenario,
    pub(crate) samples: Vec<Sample>,
    /// Turns that brought no figures: whose, and why. One is repeated; two end the contestant's part.
    pub(crate) failures: Vec<(String, String)>,
}

/// One turn of one contestant.
#[derive(Debug, Serialize)]
pub(crate) struct Sample {
    /// Its place in `contestants`.
    pub(crate) contestant: usize,
    /// Samples of one turn were taken one after the other and are compared with each other.
    pub(crate) turn: usize,
    #[serde(flatten)]
    pub(crate) measured: Measured,
}

/// What was measured.
#[derive(Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Measured {
    ClosedLoop(ClosedLoop),
    OpenLoop(latency::Sample),
    Memory { plain: idle::Sample, tls: idle::Sample },
    Syscalls(syscalls::Sample),
}

/// One turn under a closed loop.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct ClosedLoop {
    pub(crate) cpu_us_per_request: f64,
    /// What was done on the balancer's core, whoever is charged with it: interrupts that nobody's time counts, threads of the kernel.
    /// Of one with both cores nothing: the load is there, too.
    pub(crate) core_us_per_request: Option<f64>,
    pub(crate) requests_per_s: f64,
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
    /// Cores that it used, of those that it has. Below 1.0 per worker the load was the limit, not the balancer.
    pub(crate) cores_used: f64,
    /// Share of the machine's time that its host took away meanwhile.
    pub(crate) stolen: f64,
}

impl Results {
    /// Writes the JSON file, to `path` or under target/bench/; returns where.
    pub(crate) fn save(&self, path: Option<&Path>) -> Result<PathBuf> {
        save(self, path, self.started_s)
    }
}

/// Writes anything that was measured.
pub(crate) fn save(results: &impl Serialize, path: Option<&Path>, started_s: u64) -> Result<PathBuf> {
    let path = path.map_or_else(|| PathBuf::from(format!("target/bench/{started_s}.json")), Path::to_owned);
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).context(parent.display())?;
    }
    let text = serde_json::to_string_pretty(results).context("the results")?;
    std::fs::write(&path, text + "\n").context(path.display())?;
    Ok(path)
}

/// Seconds since 1970.
pub(crate) fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

impl ScenarioResult {
    /// A figure of each of a contestant's turns, in turn order.
    pub(crate) fn figures(
        &self,
        contestant: usize,
        figure: impl Fn(&Measured) -> Option<f64>,
    ) -> Vec<(usize, f64)> {
        let own = self.samples.iter().filter(|sample| sample.contestant == contestant);
        own.filter_map(|sample| Some((sample.turn, figure(&sample.measured)?))).collect()
    }

    /// Closed-loop figures, as [`figures`](Self::figures).
    pub(crate) fn closed(&self, contestant: usize, figure: impl Fn(&ClosedLoop) -> f64) -> Vec<(usize, f64)> {
        self.figures(contestant, |measured| match measured {
            Measured::ClosedLoop(sample) => Some(figure(sample)),
            _ => None,
        })
    }

    /// Open-loop figures of turns whose schedule was kept.
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
