//! What is to be done.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use weir_config::plan::TlsOut;

use crate::facts::{Expected, Mode};
use crate::target::{TargetSpec, Verify};

/// A load.
#[derive(Debug, Clone)]
pub struct Load {
    /// What is asked for; at least one.
    pub targets: Vec<TargetSpec>,
    /// How requests follow each other.
    pub mode: Mode,
    /// Replay: when each request is due, in nanoseconds from the start and in order, and which target it goes to.
    pub log: Vec<(u64, u32)>,
    /// No more requests than these (sessions: than these sessions).
    pub requests_max: Option<u64>,
    /// Closed loop: how long requests are started.
    pub duration: Option<Duration>,
    /// Where the choice of targets begins, if they have weights.
    pub seed: u64,
    /// HTTP/2, with so many requests at a time on each connection: over TLS by ALPN, else with prior knowledge (RFC 9113, section 3).
    /// Sessions have one at a time. `None` = HTTP/1.1.
    pub streams: Option<usize>,
    /// Connections take more than one request.
    pub keep_alive: bool,
    /// Connections at the same time, at most; those of HTTP/2 that a server is about to end do not count.
    pub connections_max: usize,
    /// Threads that generate load; at least 1.
    pub threads: usize,
    /// They run ahead of all ordinary programs of the machine, where that is permitted.
    pub ahead: bool,
    /// How long a request may take from its start.
    pub timeout: Duration,
    /// Where connections come from, in turn; empty = as the kernel chooses.
    pub sources: Vec<IpAddr>,
    /// For https targets.
    pub tls: TlsOut,
    /// Contents of answers are checked.
    pub verify: Option<Verify>,
    /// The header by which answers tell which server they are from; empty = none does.
    pub server_header: String,
    /// Servers, as `http://host:port`, to which answers may send a request on (301, 302, 307, 308): it is over when the last one has
    /// answered. Requests with bodies and sessions are not sent on; neither is anything to others than these. Empty = a redirect is an
    /// answer like others.
    pub follow: Vec<String>,
    /// What a good run looks like.
    pub expected: Expected,
    /// Where every request is written.
    pub output: Option<PathBuf>,
}

/// Why a load cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A target cannot be sent.
    #[error("target {name}: {cause}")]
    Target {
        /// Its method and URL.
        name: String,
        /// What is wrong with it.
        cause: String,
    },
    /// There is nothing to do.
    #[error("there is no target")]
    NoTarget,
    /// A host has no address.
    #[error("{host}: {cause}")]
    Resolve {
        /// Its name.
        host: String,
        /// What the resolver says.
        cause: std::io::Error,
    },
    /// TLS cannot be set up.
    #[error("TLS: {0}")]
    Tls(#[from] weir_net::tls::TlsError),
    /// A file cannot be written.
    #[error("{path}: {cause}")]
    Output {
        /// Which.
        path: String,
        /// Why.
        cause: std::io::Error,
    },
    /// The system refuses what every run needs.
    #[error("{what}: {cause}")]
    System {
        /// What was asked of it.
        what: &'static str,
        /// What it said.
        cause: std::io::Error,
    },
}
