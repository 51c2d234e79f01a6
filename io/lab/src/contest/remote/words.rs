//! Requests to another machine and its responses.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::monitor::SOURCES;
use super::super::store::Sample;
use crate::watch::figure_name;

/// First message of an agent.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Hello {
    /// Directory of its files.
    pub(super) directory: PathBuf,
    /// Path of its own program.
    pub(super) program: PathBuf,
    /// Address at which ssh has reached it, if known.
    pub(super) address: Option<String>,
}

/// Request to an agent.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "kebab-case")]
pub(super) enum Ask {
    /// Creates an empty directory. Deletes the content of an existing one.
    Fresh { path: PathBuf },
    /// Writes a file with this text.
    Write { path: PathBuf, text: String },
    /// Creates the files that servers serve, one per size.
    Files { directory: PathBuf, sizes: Vec<u64> },
    /// Returns a free port of this address.
    FreePort { address: SocketAddr },
    /// Checks that a listener is possible at this address.
    Listen { address: SocketAddr },
    /// Finds the program of a product by name.
    Find { product: String, named: Option<PathBuf> },
    /// Returns the beginning of a file's checksum.
    Checksum { program: PathBuf },
    /// Starts a program in the background.
    Start(Start),
    /// Returns how a started program has ended; null = it runs.
    Ended { process: u32 },
    /// Returns the last output of a program.
    LastWords { process: u32 },
    /// Returns the ids of a process and of all that it has started.
    Members { process: u32 },
    /// Sends a signal to a process.
    Signal { process: u32, signal: i32 },
    /// Ends a process and all that it has started.
    End { process: u32 },
    /// Checks that a server answers at this address.
    Answers { address: SocketAddr, path: Option<String> },
    /// Starts monitors, with further ones by name.
    Watch { every_ms: u64, further: Vec<String>, balancer: Vec<u32>, servers: Vec<u32> },
    /// Ends the monitors and returns their samples.
    Seen,
    /// Returns the time of the fixed piece of work.
    Calibrate,
    /// Returns the facts about the machine.
    Facts,
}

/// Program to start.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Start {
    /// Name in messages.
    pub(crate) name: String,
    /// Path or name of the program.
    pub(crate) program: String,
    pub(crate) arguments: Vec<String>,
    pub(crate) environment: Vec<(String, String)>,
    /// Working directory, which also gets the output.
    pub(crate) directory: PathBuf,
}

/// Response: a value, or the reason of a failure.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Answer {
    Done(Value),
    Failed(String),
}

/// Sample in transit: time, source, subject, figure, value.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Seen(f64, String, String, String, f64);

impl From<Sample> for Seen {
    fn from(sample: Sample) -> Self {
        Self(sample.at_s, sample.source.to_owned(), sample.subject, sample.figure.to_owned(), sample.value)
    }
}

impl Seen {
    /// Returns the sample; `None` = this version of Weir does not know the figure or the source.
    pub(super) fn sample(self) -> Option<Sample> {
        let Self(at_s, source, subject, figure, value) = self;
        let source = SOURCES.into_iter().find(|name| *name == source)?;
        Some(Sample { at_s, source, subject, figure: figure_name(&figure)?, value })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_monitors_see_arrives_as_it_was() {
        let sample = Sample {
            at_s: 0.5,
            source: "balancer",
            subject: "weir[7]".to_owned(),
            figure: "cpu_s",
            value: 1.25,
        };
        let line = serde_json::to_string(&Seen::from(sample.clone())).unwrap();
        let seen: Seen = serde_json::from_str(&line).unwrap();
        assert_eq!(seen.sample(), Some(sample));
        let unknown: Seen = serde_json::from_str("[1, \"host\", \"host\", \"nonsense\", 1]").unwrap();
        assert_eq!(unknown.sample(), None);
    }
}
