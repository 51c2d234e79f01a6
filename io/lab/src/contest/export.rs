//! Exports results as one small JSON file, to store beside a page or to send: the values of every run and the
//! facts about the setup.
//!
//! Reports and comparisons read an export like the SQLite file. It has no histograms, load summaries or
//! monitor samples. A report of an export therefore has no plots over time, and its CSV has only the columns
//! of the measures.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use weir_config::lab::Measure;

use super::analysis::Analysis;
use super::flaw::RunFlaw;
use super::report;
use super::store::{Configured, Growth, Losses, Played, Results};

/// Version of the format.
const FORMAT: u32 = 1;

/// Reason why a file is not an export that this program reads.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// It is not JSON, or a field is missing, unknown or of another type.
    #[error("neither a SQLite file of `weir lab run` nor an export of one: {0}")]
    Json(#[from] serde_json::Error),
    /// Another version of Weir wrote it.
    #[error("has the export format {0}; this program reads {FORMAT}")]
    Format(u32),
    /// A run has a value of a measure that this program does not know.
    #[error("case {case}, rival {rival}, repeat {repeat}: no measure is called {measure:?}")]
    Measure {
        /// Case of the run.
        case: String,
        /// Rival of the run.
        rival: String,
        /// Repeat of the run, from 0.
        repeat: u32,
        /// The unknown name.
        measure: String,
    },
}

/// Writes results as JSON: one line per fact, rival and run, so that a diff shows the changes.
///
/// # Errors
/// If a value has no JSON form.
pub fn to_json(analysis: &Analysis) -> Result<String, serde_json::Error> {
    let Results { meta, rivals, runs, losses, growth, .. } = &analysis.results;
    let facts = meta.iter().map(|(name, value)| {
        Ok(format!("{}: {}", serde_json::to_string(name)?, serde_json::to_string(value)?))
    });
    let facts = facts.collect::<Result<Vec<_>, serde_json::Error>>()?.join(",\n");
    let fields = [
        format!("\"format\": {FORMAT}"),
        list("verdict", report::verdict(analysis))?,
        format!("\"meta\": {{\n{facts}\n}}"),
        list("rivals", rivals)?,
        list("runs", runs.iter().map(Run::of))?,
        list("losses", losses)?,
        list("growth", growth.iter().map(shortened))?,
    ];
    Ok(format!("{{\n{}\n}}\n", fields.join(",\n")))
}

/// Reads the output of [`to_json`]. Ignores the stored verdict, because it follows from the runs.
///
/// # Errors
/// If the input is not an export, or has another format.
pub fn from_json(json: &[u8]) -> Result<Results, ExportError> {
    let Format { format } = serde_json::from_slice(json)?;
    if format != FORMAT {
        return Err(ExportError::Format(format));
    }
    let Export { meta, rivals, runs, losses, growth, .. } = serde_json::from_slice(json)?;
    let runs = runs.into_iter().map(Run::into_played).collect::<Result<_, _>>()?;
    Ok(Results { meta, rivals, runs, losses, growth, ..Results::default() })
}

/// Version, read first: the other fields depend on it.
#[derive(Deserialize)]
struct Format {
    format: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Export {
    #[serde(rename = "format")]
    _format: u32,
    #[serde(rename = "verdict")]
    _verdict: Vec<String>,
    meta: BTreeMap<String, String>,
    rivals: Vec<Configured>,
    runs: Vec<Run>,
    losses: Vec<Losses>,
    growth: Vec<Growth>,
}

/// One run, under the names of the SQLite file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Run {
    case: String,
    rival: String,
    /// From 0.
    repeat: u32,
    /// Position in the order of turns, from 0.
    place: u32,
    started_unix_s: f64,
    seconds: f64,
    /// A run without flaws is valid.
    flaws: Vec<RunFlaw>,
    sent: u64,
    succeeded: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failures_lasted_s: Option<f64>,
    calibration_ns: u64,
    /// Values by the name of the measure.
    figures: BTreeMap<String, f64>,
    /// Requests and bytes of each server, by its name.
    servers: BTreeMap<String, (u64, u64)>,
}

impl Run {
    fn of(run: &Played) -> Self {
        // JSON and the SQLite file have only finite values.
        let figures = run.figures.iter().filter(|(_, value)| value.is_finite());
        let figures = figures.map(|(measure, value)| (measure.name().to_owned(), rounded(*value)));
        let servers = run.servers.iter().map(|(name, requests, bytes)| (name.clone(), (*requests, *bytes)));
        Self {
            case: run.case.clone(),
            rival: run.rival.clone(),
            repeat: run.repeat,
            place: run.place,
            started_unix_s: (run.started_unix_s * 1e3).round() / 1e3,
            seconds: rounded(run.seconds),
            flaws: run.flaws.clone(),
            sent: run.sent,
            succeeded: run.succeeded,
            failures_lasted_s: run.failures_lasted_s.map(rounded),
            calibration_ns: run.calibration_ns,
            figures: figures.collect(),
            servers: servers.collect(),
        }
    }

    fn into_played(self) -> Result<Played, ExportError> {
        let mut figures = Vec::with_capacity(self.figures.len());
        for (name, value) in self.figures {
            match Measure::ALL.into_iter().find(|measure| measure.name() == name) {
                Some(measure) => figures.push((measure, value)),
                None => {
                    let Self { case, rival, repeat, .. } = self;
                    return Err(ExportError::Measure { case, rival, repeat, measure: name });
                }
            }
        }
        let servers = self.servers.into_iter().map(|(name, (requests, bytes))| (name, requests, bytes));
        Ok(Played {
            case: self.case,
            rival: self.rival,
            repeat: self.repeat,
            place: self.place,
            started_unix_s: self.started_unix_s,
            seconds: self.seconds,
            flaws: self.flaws,
            figures,
            sent: self.sent,
            succeeded: self.succeeded,
            failures_lasted_s: self.failures_lasted_s,
            calibration_ns: self.calibration_ns,
            servers: servers.collect(),
            ..Played::default()
        })
    }
}

fn shortened(growth: &Growth) -> Growth {
    Growth { mean: rounded(growth.mean), ..growth.clone() }
}

/// Rounds to nine significant digits: more than a measurement has, and few enough that every JSON parser
/// reads the same number back.
fn rounded(value: f64) -> f64 {
    format!("{value:.8e}").parse().unwrap_or(value)
}

/// Formats a field with a list, with each item on its own line.
fn list<T: Serialize>(name: &str, items: impl IntoIterator<Item = T>) -> Result<String, serde_json::Error> {
    let lines = items.into_iter().map(|item| Ok(format!("\n{}", serde_json::to_string(&item)?)));
    let lines = lines.collect::<Result<Vec<_>, serde_json::Error>>()?;
    let end = if lines.is_empty() { "" } else { "\n" };
    Ok(format!("\"{name}\": [{}{end}]", lines.join(",")))
}
