//! Load generator that checks the validity of its own runs.
//!
//! [`Running`] executes a [`Load`] in one of these models:
//! - open loop: requests start by the clock;
//! - closed loop: each connection sends its next request after a response;
//! - sessions: connections start by the clock, and each sends several requests.
//!
//! In the open loop, the generator keeps the schedule regardless of the server, and latency counts from the
//! due time of a request. The figures therefore include every stall of the server. The result is a [`Run`],
//! which lists its own [`Flaw`]s. A run with a flaw says nothing about the server. [`report`] writes the
//! result in the formats of well-known generators.
//!
//! [`watch`] records the use of machine, processes, disks and network during a run. [`contest`] runs
//! balancers alternately under the same load and compares them.
//!
//! Threads share only the schedule. Each has its own epoll instance, connections and histograms. This crate
//! uses no terminal and no command-line arguments.

pub mod contest;
mod engine;
mod facts;
mod gaps;
mod judge;
mod load;
mod record;
mod replay;
pub mod report;
mod rng;
mod run_file;
mod schedule;
mod summary;
mod tally;
mod target;
mod targets_file;
mod template;
mod turns;
pub mod units;
mod url;
pub mod watch;
mod windows;

pub use engine::{Progress, Running};
pub use facts::{Balance, Expected, Facts, FirstAnswer, Head, Mode, QuotaFacts, SessionFacts, ThreadFacts};
pub use judge::{Flaw, FlawKind};
pub use load::{Load, LoadError};
pub use record::{Fault, Record};
pub use replay::{Logged, read_log};
pub use run_file::{Ends, RunFileError, read_run};
pub use schedule::{Arrivals, Phase, Phases, RATE_MAX, RateError};
pub use summary::{Bytes, Part, Requests, Run, Server, Summary, Times, Uploads};
pub use tally::Tally;
pub use target::{Body, TargetSpec, Verify, WANTED};
pub use targets_file::{parse_mix, parse_targets};
pub use turns::{Order, Turns};
pub use windows::Moment;
