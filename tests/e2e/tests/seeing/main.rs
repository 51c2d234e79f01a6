//! What operators see: the access log and the metrics tell what happened.

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
