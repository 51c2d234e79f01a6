//! The access log: the record of a request and the formats of its line.
//!
//! The caller provides the output buffer and the time. Client data is escaped, so that a record stays on one
//! line and its fields keep their positions.

mod escape;
mod httplog;
mod json;
mod line;
mod ncsa;
mod record;
mod reference;
mod termination;
mod time;

#[cfg(test)]
mod tests;

pub use line::{LineFormat, LineWriter};
pub use record::{AccessRecord, ActiveCounts, Client, RequestFields, Subject, Timings, TlsSession};
pub use reference::reference;
pub use termination::{Cause, Phase, Termination};
pub use time::append_rfc3339;
