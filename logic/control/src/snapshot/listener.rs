use serde::{Deserialize, Serialize};

use super::{Latency, Level, PerSecond, Responses};

/// A listener.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ListenerSnapshot {
    /// Its name.
    pub name: String,
    /// Where it accepts.
    pub bind: Vec<String>,
    /// What it speaks.
    pub protocol: Protocol,
    /// TLS ends here.
    pub tls: bool,
    /// Whether it accepts.
    pub status: ListenerStatus,
    /// Client connections; the limit is `connections_max`.
    pub connections: Level,
    /// Client connections accepted.
    pub connections_total: u64,
    /// The same, per second.
    pub connection_rate: PerSecond,
    /// Connections closed at once because of a limit.
    pub connections_denied: u64,
    /// Requests (TCP: connections) that were read.
    pub requests_total: u64,
    /// The same, per second.
    pub request_rate: PerSecond,
    /// Requests that a rule refused, HAProxy's `dreq`: a route's fixed response with a status of 400 to 499, or a body
    /// larger than the route permits. Those that no route takes, and those that are malformed, are not among them.
    pub requests_denied: u64,
    /// Requests for which the expression of a route failed (a header that is not there, a division by zero).
    pub expression_failures: ExpressionFailures,
    /// Requests that could not be understood, or did not come in time.
    pub request_errors: u64,
    /// Requests that were refused for what was wrong with them, by each rule that there is. In TCP mode: connections, by those of their
    /// beginning.
    pub refused: Vec<RefusalCount>,
    /// Answers of Weir's own by class: redirects, fixed responses, errors, and what it says in the place of a server that
    /// failed or was not to be had.
    pub answered: Responses,
    /// Requests that Weir answered without asking a server.
    pub intercepted: u64,
    /// Clients that went away before the end.
    pub client_aborts: u64,
    /// Bytes from clients.
    pub request_bytes: u64,
    /// Bytes to clients.
    pub response_bytes: u64,
    /// Responses by class.
    pub responses: Responses,
    /// TLS handshakes.
    pub tls_handshakes: TlsCounts,
    /// From the end of the request's head to the response's last byte.
    pub duration: Latency,
}

/// Requests that one rule has refused.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RefusalCount {
    /// The rule, by its name in the access log.
    pub rule: String,
    /// How many.
    pub requests: u64,
}

/// Requests for which the expression of a route failed, by what the route did. A request counts once for each such route.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ExpressionFailures {
    /// The route denies requests (`respond` with 400 or above), and took the request.
    pub denied: u64,
    /// The route did not take the request; the next one was tried.
    pub passed_over: u64,
}

/// TLS handshakes with clients.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TlsCounts {
    /// Completed, resumed ones included.
    pub completed: u64,
    /// Those that resumed a session.
    pub resumed: u64,
    /// Those that failed.
    pub failed: u64,
}

/// What a listener speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// HTTP/1.
    #[default]
    Http,
    /// Bytes.
    Tcp,
}

/// Whether a listener accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ListenerStatus {
    /// It does.
    #[default]
    Open,
    /// It is at its connection limit.
    Full,
    /// It is being closed; what is open is being finished.
    Closing,
}

impl Protocol {
    /// The name in config and listings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Tcp => "tcp",
        }
    }
}

impl ListenerStatus {
    /// The name in listings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Full => "full",
            Self::Closing => "closing",
        }
    }
}
