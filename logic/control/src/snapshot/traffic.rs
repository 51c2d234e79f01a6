use serde::{Deserialize, Serialize};

use super::Latency;

/// A number that rises and falls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Level {
    /// Now.
    pub current: u64,
    /// The highest that was seen, by a look each second, with thousands of servers every few seconds.
    pub max: u64,
    /// What it may be at most; `None` = no limit.
    pub limit: Option<u64>,
}

/// Events per second, counted once a second; of servers at most 2,500 each second: with 10,000 in all pools, every four seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PerSecond {
    /// Since they were counted before, as a rule a second ago.
    pub current: u64,
    /// The highest it ever was.
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

/// What went to a server, or to all servers of a pool, since the start.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Traffic {
    /// Requests (TCP: connections) in flight; the limit is `connections_max`.
    pub active: Level,
    /// Requests (TCP: connections) that came here. A pool counts a request once, however often it is tried; for a server
    /// each try is one.
    pub requests_total: u64,
    /// The same, per second.
    pub request_rate: PerSecond,
    /// Times that a server was chosen for a request (TCP: a connection): one for each try.
    pub tries_total: u64,
    /// Bytes from clients, sent to the server.
    pub request_bytes: u64,
    /// Bytes from the server, for clients.
    pub response_bytes: u64,
    /// Connections that were opened.
    pub connections_total: u64,
    /// Requests that went over a connection that had been used before.
    pub reuses: u64,
    /// Connections that could not be opened.
    pub connect_errors: u64,
    /// Responses that did not come, or came broken.
    pub response_errors: u64,
    /// Clients that went away while the server worked for them.
    pub client_aborts: u64,
    /// Responses (TCP: connections) that the server broke off, or let stall, after they had begun: HAProxy's `srv_abrt`. Of
    /// responses, each is in `response_errors` as well.
    pub server_aborts: u64,
    /// Requests that were tried again after failing here.
    pub retries: u64,
    /// Of these, the ones that failed because no connection could be opened.
    pub connect_retries: u64,
    /// Of these, the ones that went to another server.
    pub redispatches: u64,
    /// Responses by class.
    pub responses: Responses,
    /// From the start of a connect to its end, TLS included.
    pub connect: Latency,
    /// From the request's last byte to the response's first.
    pub first_byte: Latency,
    /// From the choice of the server to the response's last byte.
    pub total: Latency,
    /// Since the last request; `None` = there was none.
    pub idle_ms: Option<u64>,
}

impl Responses {
    /// The label of each class, in the order of [`Responses::counts`].
    pub const LABELS: [&str; 6] = ["1xx", "2xx", "3xx", "4xx", "5xx", "other"];

    /// 1xx, 2xx, 3xx, 4xx, 5xx, other.
    pub const fn counts(&self) -> [u64; 6] {
        [self.informational, self.success, self.redirection, self.client_error, self.server_error, self.other]
    }

    /// All of them.
    pub fn total(&self) -> u64 {
        self.counts().iter().sum()
    }
}

impl From<[u64; 6]> for Responses {
    fn from([informational, success, redirection, client_error, server_error, other]: [u64; 6]) -> Self {
        Self { informational, success, redirection, client_error, server_error, other }
    }
}
