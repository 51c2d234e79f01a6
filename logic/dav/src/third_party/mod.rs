//! Third-party copy (HTTP-TPC): on a client's request, this server copies a file from or to another server.
//! The request headers, the rules for remote addresses, and the progress reports.

mod address;
mod error;
mod progress;
mod remote;
mod request;
mod rules;

#[cfg(test)]
mod tests;

pub use address::AddressClass;
pub use error::TransferError;
pub use progress::{Marker, failure_line, success_line};
pub use request::{Direction, TransferRequest, Verification};
pub use rules::{BadHostRule, HostRule, RemoteRules, Vetoed};
