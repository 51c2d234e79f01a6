//! Tests of each protocol through the crate's public interface.
#![allow(clippy::unwrap_used, clippy::panic)] // A failed helper is a failed test.

mod agent;
mod client_hello;
mod proxy_protocol;
mod rdp;
mod resp;
