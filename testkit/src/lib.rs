//! Building blocks for tests that use real sockets and real processes: servers that misbehave to the byte, a client
//! that sees how a connection ended, processes that do not outlive their test.
//!
//! Blocking, with a thread for each connection, so that a test reads from top to bottom; every read has a timeout, so
//! that none of them hangs. For tests only: what goes wrong here panics and fails the test.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bodies;
pub mod certificates;
mod dns;
mod pattern;
mod peer;
mod ports;
mod process;
mod procfs;
mod raw_client;
mod raw_server;
mod response;
mod stream;
mod trace;
mod untested;
mod wait;

pub use bodies::chunked;
pub use dns::{dns_answer, dns_asks_for_ipv4};
pub use pattern::pattern;
pub use peer::{Message, Peer};
pub use ports::{FullListener, RefusingPort};
pub use process::{Child, Signal};
pub use procfs::{descriptor_count, is_stopped, peak_rss_bytes, rss_bytes, thread_count, threads_cpu_ns};
pub use raw_client::RawClient;
pub use raw_server::{RawServer, Step};
pub use response::{BodyFraming, Response, ResponseError};
pub use stream::Ending;
pub use tempfile::TempDir;
pub use trace::Trace;
pub use untested::untested;
pub use wait::{PATIENCE, wait_until};
