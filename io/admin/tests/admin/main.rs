//! Every face of the administration, over real sockets where it has some.
#![allow(clippy::unwrap_used, clippy::panic)] // A helper that fails is a test that fails.

mod common;
mod csv;
mod doors;
mod http;
mod metrics;
mod page;
mod socket;
