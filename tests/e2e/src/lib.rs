//! Runs the real binary for tests. Each instance has its own config, control socket and ports. It is killed
//! when the test ends, and its log is printed if the test fails.
//!
//! ```no_run
//! let server = weir_testkit::RawServer::answering("hi");
//! let weir = weir_e2e::Weir::start(&weir_e2e::web(&[server.addr()]));
//! let mut client = weir_testkit::RawClient::connect(weir.addr("web"));
//! assert_eq!(client.exchange("GET / HTTP/1.1\r\nHost: a\r\n\r\n").body, b"hi");
//! ```

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod binary;
mod config;
mod demo;
mod lab;
mod metrics;
mod terminal;
mod weir;

pub use binary::path as program;
pub use config::{get, web};
pub use demo::Demo;
pub use lab::{Lab, Row, Said, text};
pub use metrics::Metrics;
pub use terminal::Terminal;
pub use weir::{Launcher, Weir};
