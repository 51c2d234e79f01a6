//! The data path, which accepts connections, chooses servers and forwards bytes, and the control plane, which
//! gives the workers their configuration.
//!
//! Decisions are made by the crates in logic/*; sockets, timers and TLS are in io/net. See
//! docs/architecture.md for the division of work.

mod accept;
pub mod access_log;
mod connect;
pub mod control;
mod early;
mod http;
mod log;
mod peer_progress;
mod pump;
pub mod redirect;
pub mod report;
mod session;
mod socket_name;
pub mod state;
pub mod sticky;
mod tcp;
#[cfg(test)]
mod testing;
mod tunnel;
mod turns;
mod worker;
mod workers;

pub use socket_name::SocketName;
pub use workers::{ListenerSockets, OpenedSockets, Workers};
