//! Description of a load.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use weir_config::plan::TlsOut;

use crate::facts::{Expected, Mode};
use crate::target::{TargetSpec, Verify};

/// A load to generate.
#[derive(Debug, Clone)]
pub struct Load {
    /// Requests to send; at least one.
    pub targets: Vec<TargetSpec>,
    /// Load model.
    pub mode: Mode,
    /// Replay: due time of each request, in nanoseconds from the start and in order, and the index of its
    /// target.
    pub log: Vec<(u64, u32)>,
    /// Maximum number of requests, or of sessions in that mode.
    pub requests_max: Option<u64>,
    /// Closed loop: time during which requests are started.
    pub duration: Option<Duration>,
    /// Seed for the choice of targets, if they have weights.
    pub seed: u64,
    /// Concurrent requests per HTTP/2 connection. HTTP/2 is negotiated by ALPN over TLS, and used with prior
    /// knowledge without TLS (RFC 9113 section 3). Sessions have one request at a time. `None` = HTTP/1.1.
    pub streams: Option<usize>,
    /// Set when a connection may carry more than one request.
    pub keep_alive: bool,
    /// Maximum number of concurrent connections. HTTP/2 connections that a server is about to close do not
    /// count.
    pub connections_max: usize,
    /// Threads that generate load; at least 1.
    pub threads: usize,
    /// Set when the threads run with real-time priority, ahead of all ordinary programs, if that is
    /// permitted.
    pub ahead: bool,
    /// Timeout of a request, from its start.
    pub timeout: Duration,
    /// Source addresses of connections, used in turn; empty = the kernel chooses.
    pub sources: Vec<IpAddr>,
    /// TLS settings for https targets.
    pub tls: TlsOut,
    /// Check of response bodies.
    pub verify: Option<Verify>,
    /// Name of the response header that contains the server's name; empty = no such header.
    pub server_header: String,
    /// Servers, as `http://host:port`, to which a response may redirect a request (301, 302, 307, 308). The
    /// request ends with the last response. Redirects are not followed for requests with bodies, in sessions,
    /// or to other servers. Empty = a redirect is an ordinary response.
    pub follow: Vec<String>,
    /// Criteria for a good run.
    pub expected: Expected,
    /// Result file that contains every request.
    pub output: Option<PathBuf>,
}

/// Reason why a load cannot be generated.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The request of a target cannot be sent.
    #[error("target {name}: {cause}")]
    Target {
        /// Method and URL of the target.
        name: String,
        /// Reason.
        cause: String,
    },
    /// The load has no target.
    #[error("there is no target")]
    NoTarget,
    /// A host name cannot be resolved.
    #[error("{host}: {cause}")]
    Resolve {
        /// Name of the host.
        host: String,
        /// Error of the resolver.
        cause: std::io::Error,
    },
    /// TLS cannot be set up.
    #[error("TLS: {0}")]
    Tls(#[from] weir_net::tls::TlsError),
    /// The result file cannot be written.
    #[error("{path}: {cause}")]
    Output {
        /// Path of the file.
        path: String,
        /// Cause.
        cause: std::io::Error,
    },
    /// The system refuses a resource that every run needs.
    #[error("{what}: {cause}")]
    System {
        /// Resource that was refused.
        what: &'static str,
        /// Error of the system.
        cause: std::io::Error,
    },
}
