//! Load generation that can be trusted.
//!
//! [`Running`] makes a [`Load`]: by the clock (open loop), by connections that ask again when they are answered (closed
//! loop), or by sessions. In the open loop the schedule is kept whatever the server does, and latency counts from when a
//! request was due; so a server that stalls shows its stall. What comes of it is a [`Run`], which knows its own [`Flaw`]s: a
//! run that has one says nothing about the server. [`report`] writes it in the forms of the known generators.
//!
//! [`watch`] reads what machine, processes, disks and network do meanwhile. [`contest`] lets balancers take turns under load, and
//! says what may be said of them.
//!
//! Threads share nothing but a plan; each has its own epoll, connections and histograms. Knows no terminal and no arguments.

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
