//! A small HTTP/1.1 client: requests of this process to servers elsewhere, over the sockets of `io/net` with the parsers of
//! `logic/http`. One request on each connection.
//!
//! A server that somebody else has named is connected to only at an address that rules let through ([`Dialer::rules`]). Heads are
//! bounded, bodies are read piece by piece, and nothing waits longer for a silent server, or one that is next to
//! silent, than it is told to.

mod body;
mod connection;
mod dialer;
mod fault;
mod floor;
mod head;

pub(crate) use body::Incoming;
pub(crate) use connection::Connection;
pub(crate) use dialer::Dialer;
pub(crate) use fault::Fault;
pub(crate) use head::{Head, RequestHead};
