//! The control plane: work that workers must not do, such as checks, DNS, ejection, commands, reloads and
//! snapshots.
//!
//! One thread with its own current-thread runtime does all of it. The logic crates decide, the control plane
//! publishes the results, and workers only read. The program opens the listening sockets and reads the
//! config.

mod agents;
mod apply;
mod certificates;
mod checks;
mod controller;
mod ejection;
mod error;
mod event_log;
mod expressions;
mod hedging;
mod memory;
mod names;
mod parts;
mod phrase;
mod prepared;
mod process_facts;
mod publish;
mod random;
mod rates;
mod records;
mod reload;
mod rises;
mod setup;
mod snapshot;
mod state_file;
mod task;

#[cfg(test)]
mod tests;

pub use certificates::follow_files;
pub use controller::Controller;
pub use error::{ReloadError, StartError};
pub use event_log::EventLog;
pub use prepared::{Prepared, ReloadOutcome};
pub use setup::Setup;
