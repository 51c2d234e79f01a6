//! Third-party copy (HTTP-TPC): COPY of a file between this server and another one. This process makes the
//! copy and reports its progress to the client.
//!
//! `logic/dav` parses the request and decides about permitted servers. A transfer lives as long as the
//! response to its client. If the client leaves, the transfer ends and leaves nothing behind.

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
