//! A small HTTP/1.1 client for requests to other servers. It uses the sockets of `io/net` and the parsers of
//! `logic/http`, with one request on each connection.
//!
//! If a client chose the server, only addresses that the rules permit are connected to ([`Dialer::rules`]).
//! Heads are limited in size, bodies are read in pieces, and timeouts and a minimum rate limit every wait.

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
