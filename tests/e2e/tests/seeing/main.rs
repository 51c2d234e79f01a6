//! Tests the access log, the metrics and the control socket: everything through which operators see what
//! happened.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod access_log;
mod admin;
mod answers;
mod blame;
mod client_aborts;
mod clients;
mod connections;
mod control_reference;
mod metrics;
mod refusals;
mod request_ids;
