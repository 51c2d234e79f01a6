//! Building blocks for tests with real sockets and real processes. Servers can misbehave in every detail, the
//! client sees how a connection ended, and processes end with their test.
//!
//! The code blocks and uses a thread for each connection, so that a test reads from top to bottom. Every read
//! has a timeout, so that no test hangs. For tests only: an error panics and so fails the test.

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
mod set_on_drop;
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
pub use set_on_drop::SetOnDrop;
pub use stream::Ending;
pub use tempfile::TempDir;
pub use trace::Trace;
pub use untested::untested;
pub use wait::{PATIENCE, wait_until};
