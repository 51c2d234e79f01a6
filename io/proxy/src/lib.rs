//! The data path: accepts connections, chooses servers, moves bytes, survives everything; and the control plane that
//! tells the workers what is true.
//!
//! Decisions are made by logic/*; sockets, timers and TLS are io/net's. See docs/architecture.md for who owns what.

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
