//! The state of listeners in a snapshot.

use serde::{Deserialize, Serialize};

use super::{Latency, Level, PerSecond, Responses};

/// State of a listener.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ListenerSnapshot {
    /// Name of the listener.
    pub name: String,
    /// Listening addresses.
    pub bind: Vec<String>,
    /// Protocol of the listener.
    pub protocol: Protocol,
    /// True if the listener terminates TLS.
    pub tls: bool,
    /// State of the listener.
    pub status: ListenerStatus,
    /// Client connections; the limit is `connections_max`.
    pub connections: Level,
    /// Client connections accepted.
    pub connections_total: u64,
    /// Client connections accepted per second.
    pub connection_rate: PerSecond,
    /// Connections closed at once because of a limit.
    pub connections_denied: u64,
    /// Requests (TCP: connections) read.
    pub requests_total: u64,
    /// Requests (TCP: connections) read per second.
    pub request_rate: PerSecond,
    /// Requests denied by a rule, HAProxy's `dreq`: a route's fixed response with a status of 400 to 499, or
    /// a body larger than the route permits. Malformed requests and requests that match no route are not
    /// included.
    pub requests_denied: u64,
    /// Requests for which the expression of a route failed (a missing header, a division by zero).
    pub expression_failures: ExpressionFailures,
    /// Requests that could not be parsed or did not arrive in time.
    pub request_errors: u64,
    /// Requests refused because of an error in them, for each rule. In TCP mode: connections, for each rule
    /// about their first bytes.
    pub refused: Vec<RefusalCount>,
    /// Weir's own responses by class: redirects, fixed responses, errors, and responses in place of a server
    /// that failed or was not available.
    pub answered: Responses,
    /// Requests that Weir answered without a server.
    pub intercepted: u64,
    /// Clients that disconnected before the end.
    pub client_aborts: u64,
    /// Bytes from clients.
    pub request_bytes: u64,
    /// Bytes to clients.
    pub response_bytes: u64,
    /// Responses by class.
    pub responses: Responses,
    /// TLS handshakes.
    pub tls_handshakes: TlsCounts,
    /// Time from the end of the request's head to the response's last byte.
    pub duration: Latency,
}

/// Number of requests that one rule has refused.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RefusalCount {
    /// Name of the rule in the access log.
    pub rule: String,
    /// Number of requests.
    pub requests: u64,
}

/// Requests for which the expression of a route failed, by the route's reaction. A request counts once for
/// each such route.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ExpressionFailures {
    /// Requests taken by a route that denies (`respond` with 400 or above).
    pub denied: u64,
    /// Requests that the route did not take; the next route was tried.
    pub passed_over: u64,
}

/// Counts of TLS handshakes with clients.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TlsCounts {
    /// Completed handshakes, including resumed ones.
    pub completed: u64,
    /// Handshakes that resumed a session.
    pub resumed: u64,
    /// Failed handshakes.
    pub failed: u64,
}

/// Protocol of a listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// HTTP/1.
    #[default]
    Http,
    /// Bytes without further interpretation.
    Tcp,
}

/// State of a listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ListenerStatus {
    /// The listener accepts connections.
    #[default]
    Open,
    /// The listener is at its connection limit.
    Full,
    /// The listener is closing; open connections finish.
    Closing,
}

impl Protocol {
    /// Returns the name in config and listings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Tcp => "tcp",
        }
    }
}

impl ListenerStatus {
    /// Returns the name in listings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Full => "full",
            Self::Closing => "closing",
        }
    }
}
