//! A line for each request: what goes into it, and how it is written.
//!
//! Lines are appended to a buffer of the caller's, who also brings the time. Whatever a client sent is escaped, so that
//! a record is one line and its fields stay where they are.

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
