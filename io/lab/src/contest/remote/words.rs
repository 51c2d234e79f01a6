//! What is asked of another machine, and how it answers.

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::monitor::SOURCES;
use super::super::store::Sample;
use crate::watch::figure_name;

/// The first thing that an agent says.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Hello {
    /// Where it keeps its files.
    pub(super) directory: PathBuf,
    /// Its own program.
    pub(super) program: PathBuf,
    /// Where ssh has reached it, if it says.
    pub(super) address: Option<String>,
}

/// A question.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "kebab-case")]
pub(super) enum Ask {
    /// An empty directory; one that is there loses what is in it.
    Fresh { path: PathBuf },
    /// A file with this text.
    Write { path: PathBuf, text: String },
    /// The files that servers serve: one for each size.
    Files { directory: PathBuf, sizes: Vec<u64> },
    /// A port of this address at which nobody listens.
    FreePort { address: SocketAddr },
    /// Whether one can listen there.
    Listen { address: SocketAddr },
    /// The program of a product, by name.
    Find { product: String, named: Option<PathBuf> },
    /// The beginning of a file's checksum.
    Checksum { program: PathBuf },
    /// A program, which goes on.
    Start(Start),
    /// How a program that was started has ended; null = it has not.
    Ended { process: u32 },
    /// What it has said last.
    LastWords { process: u32 },
    /// It and all that it has started.
    Members { process: u32 },
    /// A signal for it.
    Signal { process: u32, signal: i32 },
    /// Its end, and that of all that it has started.
    End { process: u32 },
    /// Whether somebody answers there.
    Answers { address: SocketAddr, path: Option<String> },
    /// Monitors begin, with further ones by name.
    Watch { every_ms: u64, further: Vec<String>, balancer: Vec<u32>, servers: Vec<u32> },
    /// Monitors end, and say what they saw.
    Seen,
    /// How long the fixed piece of work takes.
    Calibrate,
    /// What machine it is.
    Facts,
}

/// How a program is started.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Start {
    /// What it is called in messages.
    pub(crate) name: String,
    /// Its path, or its name.
    pub(crate) program: String,
    pub(crate) arguments: Vec<String>,
    pub(crate) environment: Vec<(String, String)>,
    /// Where it runs, and where what it says goes.
    pub(crate) directory: PathBuf,
}

/// An answer: something, or why not.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Answer {
    Done(Value),
    Failed(String),
}

/// What a monitor saw: when, of what, of whom, which figure, how much.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Seen(f64, String, String, String, f64);

impl From<Sample> for Seen {
    fn from(sample: Sample) -> Self {
        Self(sample.at_s, sample.source.to_owned(), sample.subject, sample.figure.to_owned(), sample.value)
    }
}

impl Seen {
    /// `None`: it is of a figure or a source that this Weir does not know.
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
