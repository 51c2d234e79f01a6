//! Counters and rates in a snapshot.

use serde::{Deserialize, Serialize};

use super::Latency;

/// A value that rises and falls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Level {
    /// Current value.
    pub current: u64,
    /// Highest value seen, sampled each second; with thousands of servers, every few seconds.
    pub max: u64,
    /// Upper limit; `None` = no limit.
    pub limit: Option<u64>,
}

/// Events per second, computed once a second. Each second covers at most 2,500 servers: with 10,000 in all
/// pools, each server's turn comes every four seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PerSecond {
    /// Rate since the previous computation, usually a second ago.
    pub current: u64,
    /// Highest rate so far.
    pub max: u64,
}

/// Responses by class of status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Responses {
    /// 100 to 199.
    #[serde(rename = "1xx")]
    pub informational: u64,
    /// 200 to 299.
    #[serde(rename = "2xx")]
    pub success: u64,
    /// 300 to 399.
    #[serde(rename = "3xx")]
    pub redirection: u64,
    /// 400 to 499.
    #[serde(rename = "4xx")]
    pub client_error: u64,
    /// 500 to 599.
    #[serde(rename = "5xx")]
    pub server_error: u64,
    /// Anything else.
    pub other: u64,
}

/// Traffic of a server, or of all servers of a pool, since the start.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Traffic {
    /// Requests (TCP: connections) in flight; the limit is `connections_max`.
    pub active: Level,
    /// Requests (TCP: connections) that arrived. A pool counts a request once, however often it is tried; a
    /// server counts each try.
    pub requests_total: u64,
    /// Requests (TCP: connections) per second.
    pub request_rate: PerSecond,
    /// Times a server was chosen for a request (TCP: a connection), once for each try.
    pub tries_total: u64,
    /// Bytes from clients, sent to the server.
    pub request_bytes: u64,
    /// Bytes from the server, for clients.
    pub response_bytes: u64,
    /// Connections opened.
    pub connections_total: u64,
    /// Requests on a connection that had been used before.
    pub reuses: u64,
    /// Connections that could not be opened.
    pub connect_errors: u64,
    /// Responses that did not arrive or were malformed.
    pub response_errors: u64,
    /// Clients that disconnected while the server worked for them.
    pub client_aborts: u64,
    /// Responses (TCP: connections) that the server broke off or let stall after their beginning: HAProxy's
    /// `srv_abrt`. Such responses are also in `response_errors`.
    pub server_aborts: u64,
    /// Requests retried after failing here.
    pub retries: u64,
    /// Retried requests that failed because no connection could be opened.
    pub connect_retries: u64,
    /// Retried requests that went to another server.
    pub redispatches: u64,
    /// Responses by class.
    pub responses: Responses,
    /// Time from the start of a connect to its end, TLS included.
    pub connect: Latency,
    /// Time from the request's last byte to the response's first byte.
    pub first_byte: Latency,
    /// Time from the choice of the server to the response's last byte.
    pub total: Latency,
    /// Time since the last request; `None` = there was none.
    pub idle_ms: Option<u64>,
}

impl Responses {
    /// Labels of the classes, in the order of [`Responses::counts`].
    pub const LABELS: [&str; 6] = ["1xx", "2xx", "3xx", "4xx", "5xx", "other"];

    /// Returns the counts of 1xx, 2xx, 3xx, 4xx, 5xx and other responses.
    pub const fn counts(&self) -> [u64; 6] {
        [self.informational, self.success, self.redirection, self.client_error, self.server_error, self.other]
    }

    /// Returns the sum of all classes.
    pub fn total(&self) -> u64 {
        self.counts().iter().sum()
    }
}

impl From<[u64; 6]> for Responses {
    fn from([informational, success, redirection, client_error, server_error, other]: [u64; 6]) -> Self {
        Self { informational, success, redirection, client_error, server_error, other }
    }
}
