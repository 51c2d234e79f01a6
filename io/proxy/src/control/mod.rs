//! The control plane: everything that workers must not do. Checks, DNS, ejection, commands, reloads, snapshots.
//!
//! One thread with its own current-thread runtime runs all of it. It decides with the logic crates and publishes what
//! came of it; workers only read. Opens no listening sockets and reads no config: the program does, and tells.

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
