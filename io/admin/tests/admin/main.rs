//! Tests of all admin interfaces, over real sockets if they have any.
#![allow(clippy::unwrap_used, clippy::panic)] // A helper that fails is a test that fails.

mod common;
mod csv;
mod doors;
mod http;
mod metrics;
mod page;
mod socket;
