//! Third-party copy (HTTP-TPC): COPY between a file here and one on another server, made by this process while its client is told
//! of the progress.
//!
//! What a request says, and where a transfer may lead, is decided by `logic/dav`. A transfer lives as long as the answer to its
//! client: if that goes away, the transfer ends with it, and nothing is left behind.

mod begin;
mod job;
mod parallel;
mod pull;
mod push;
mod remote;
mod report;
mod source;
mod tries;
mod verify;

pub(crate) use begin::{answer, asked};
