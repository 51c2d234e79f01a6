//! Comparisons of balancers. The servers and rivals of a scenario run alternately under load, and the results
//! are stored, judged and reported.
//!
//! [`play`] plays a scenario into a [`Store`] (one SQLite file). [`Analysis`] computes the statistics,
//! [`report`] formats them, and [`export`] writes the underlying values. No process, file or network outlives
//! the lab: see [`Ledger`].

mod analysis;
mod balancers;
mod capacity;
pub mod export;
mod figures;
mod flaw;
mod fleet;
mod identity;
mod idle;
mod keepalived;
mod machine;
mod monitor;
mod monitors;
mod play;
mod regression;
mod remote;
pub mod report;
pub mod rivals;
mod servers;
mod shipped;
mod stage;
mod store;
#[cfg(test)]
mod tests;
mod trouble;
mod turn;

pub use analysis::{Analysis, Cell, Pair, Standing};
pub use capacity::{Capacity, CapacitySearch, Goal, Probe};
pub use flaw::{RunFlaw, Whose};
pub use play::{Event, Play, PlayError, play};
pub use regression::{Comparison, Failures, Regression, Verdicts, compare};
pub use remote::serve as serve_lab;
pub use shipped::{SHIPPED, Shipped};
pub use stage::{Cleaned, Ledger};
pub use store::{Configured, CpuCurve, Played, Results, Sample, Store, StoreError};
