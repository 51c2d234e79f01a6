//! Third-party copy (HTTP-TPC): a client has this server copy a file from or to another one. What its request says, where a
//! transfer may lead, and how the client is told of its progress.

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
