//! A valid pool with its servers.

use serde::Serialize;
use weir_balance::{
    Algorithm, AutoWeightRule, ConcurrencyRule, KnownSpeeds, MeasureOptions, Membership, Scheduling,
    SlowStart,
};
use weir_health::{BreakerRule, CheckTiming, EjectionRule};
use weir_http::{FixedResponse, Lenient, PathPattern};
use weir_model::{Millis, PoolName, ServerAddress, ServerName, Weight, ZoneName};

use super::balance::plan::HashPlan;
use super::offload::plan::OffloadPlan;
use super::redirect::plan::RedirectPlan;
use super::sticky::plan::StickyPlan;
use crate::tls::plan::TlsOut;

/// Servers, and the rules for the choice of one of them (`[pool.NAME]`).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PoolPlan {
    /// Its name.
    pub name: PoolName,
    /// Balancing algorithm.
    pub algorithm: Algorithm,
    /// Hash settings, for the algorithms that hash.
    pub hash: HashPlan,
    /// Sticky sessions; `None` = Weir balances each request by itself.
    pub sticky: Option<StickyPlan>,
    /// Options of the algorithms that choose at random or by measurements.
    pub measure: MeasureOptions,
    /// Servers in file order, with unique names. May be empty: servers can be added at runtime.
    pub servers: Vec<ServerPlan>,
    /// Maximum number of active requests (TCP: connections) of the pool; `None` = no limit.
    pub connections_max: Option<u32>,
    /// Limits and order of waiting requests.
    pub queue: QueuePlan,
    /// Limit for each server that adapts to its latency; `None` = off.
    pub concurrency: Option<ConcurrencyRule>,
    /// Active checks; `None` = all servers count as up.
    pub check: Option<CheckPlan>,
    /// Agent program on each server that reports its state; `None` = no agent.
    pub agent: Option<AgentPlan>,
    /// Ramp of a server's weight after the server comes up; `None` = no ramp.
    pub slow_start: Option<SlowStart>,
    /// Rules for measured weights.
    pub auto_weight: AutoWeightPlan,
    /// Rules that select the servers of the pool that take part.
    pub membership: Membership,
    /// Zone whose servers are preferred; `None` = zones do not matter.
    pub zone: Option<ZoneName>,
    /// Ejection of servers after failed requests; `None` = off.
    pub ejection: Option<EjectionRule>,
    /// Circuit breaker; `None` = off.
    pub breaker: Option<BreakerRule>,
    /// TLS to servers; `None` = plaintext.
    pub tls: Option<TlsOut>,
    /// Version of the PROXY header to servers; `None` = no header.
    pub proxy_protocol: Option<ProxyProtocolOut>,
    /// Time limits for servers.
    pub timeouts: ServerTimeouts,
    /// Rules for retries.
    pub retry: RetryPlan,
    /// Hedged requests: a second attempt beside a slow first one; `None` = off.
    pub hedge: Option<HedgePlan>,
    /// Rules for idle server connections.
    pub reuse: ConnectionReuse,
    /// Maximum declared length, in bytes, of a body that Weir reads completely before it chooses a server;
    /// `None` = it reads no body first.
    pub collected_body_bytes_max: Option<u64>,
    /// Response if no server is available.
    pub nobody_left: NobodyLeft,
    /// Redirects of clients to the servers; `None` = Weir proxies all requests.
    pub redirect: Option<RedirectPlan>,
    /// Faults in response heads that Weir repairs.
    pub lenient: Lenient,
    /// Files that Weir sends if a server names them; `None` = none.
    pub offload: Option<OffloadPlan>,
}

impl PoolPlan {
    /// Returns the algorithm with its options.
    pub fn scheduling(&self) -> Scheduling {
        Scheduling {
            algorithm: self.algorithm,
            hash: self.hash.options,
            measure: self.measure,
            membership: self.membership,
        }
    }
}

/// One server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ServerPlan {
    /// Name, unique in the pool; made from the address if none is given.
    pub name: ServerName,
    /// Address of the server.
    pub address: ServerAddress,
    /// Weight; the initial weight if weights are measured.
    pub weight: Weight,
    /// Known speeds of a server whose weight is measured; `None` = the weight is fixed.
    pub auto_weight: Option<KnownSpeeds>,
    /// True if the server gets requests only if no other server can.
    pub backup: bool,
    /// Priority: the server gets requests only if no server with a lower number can.
    pub priority: u16,
    /// Zone of the server.
    pub zone: Option<ZoneName>,
    /// Port of the server's agent, if it differs from that of the pool.
    pub agent_port: Option<u16>,
    /// Maximum number of active requests (TCP: connections); `None` = no limit.
    pub connections_max: Option<u32>,
}

/// Rules for measured weights (`auto-weight = ...`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AutoWeightPlan {
    /// True if weights are measured: a server has `weight = "auto"`, or the pool is empty and its
    /// `auto-weight` is for servers added later.
    pub is_on: bool,
    /// Paths of static content: for GET and HEAD requests to them, the storage speed counts, for others the
    /// processor speed.
    pub static_paths: Vec<PathPattern>,
    /// Time between two evaluations.
    pub interval: Millis,
    /// Range of weights, and the minimum number of requests.
    pub rule: AutoWeightRule,
}

/// Agent program on each server, which reports the server's state over TCP (`agent = ...`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AgentPlan {
    /// Port of the agent, at the server's address.
    pub port: u16,
    /// Time from the end of one response to the next query.
    pub interval: Millis,
    /// Time limit from the connect to the end of the response.
    pub timeout: Millis,
    /// Text that Weir sends first; `None` = nothing.
    pub send: Option<String>,
}

/// Active checks (`check = ...`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckPlan {
    /// Kind of check.
    pub kind: CheckKind,
    /// Intervals, timeouts and thresholds.
    pub timing: CheckTiming,
    /// Port; `None` = that of the server.
    pub port: Option<u16>,
}

/// Kind of an active check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CheckKind {
    /// Opens a connection.
    Tcp,
    /// Completes a TLS handshake with the pool's TLS settings, or with the defaults if it has none.
    Tls,
    /// Sends a request, over TLS if the pool uses it.
    Http(HttpCheck),
}

/// Settings of an HTTP check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HttpCheck {
    /// Method.
    pub method: String,
    /// Request target.
    pub path: String,
    /// Host header; `None` = the server's address.
    pub host: Option<String>,
    /// Additional headers.
    pub headers: Vec<(String, String)>,
    /// Accepted statuses, as inclusive ranges.
    pub expect_status: Vec<(u16, u16)>,
    /// Name of a required header, and a text that its value must contain.
    pub expect_header: Option<(String, String)>,
    /// Text that the first 64 KiB of the body must contain.
    pub expect_body: Option<String>,
}

/// Version of the PROXY header that servers get.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProxyProtocolOut {
    /// Version 1, text.
    V1,
    /// Version 2, binary.
    V2,
}

/// Time limits for servers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ServerTimeouts {
    /// Time limit for the connection, including the TLS handshake.
    pub connect: Millis,
    /// Time limit from the last byte of the request to the first byte of the response head. After it, Weir
    /// responds with 504.
    pub response: Millis,
    /// Idle timeout of a body, for both directions.
    pub idle: Millis,
    /// Maximum wait for a server if all are at their limit; 0 = no wait.
    pub queue: Millis,
}

/// Limits and order of requests that wait for a server. `timeouts` has the maximum wait.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct QueuePlan {
    /// Maximum number of waiting requests; `None` = no limit.
    pub length_max: Option<u32>,
    /// Maximum number of requests that wait for the one server to which they are bound; more go to another
    /// server. `None` = no limit.
    pub server_length_max: Option<u32>,
    /// Fairness between clients whose requests have the same priority.
    pub fair: Fairness,
}

/// Unit of fairness in the queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fairness {
    /// No fairness: first come, first served.
    None,
    /// The client's address; of an IPv6 address, the /64.
    Client,
    /// The value of this request header. Without one, and in TCP mode, the client's address.
    Header(String),
}

/// Rules for retries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RetryPlan {
    /// Maximum number of retries of a request; 0 = none.
    pub attempts: u8,
    /// Retry budget as a percentage of the pool's requests, 0 to 100, for retries beyond
    /// `budget_min_per_second`.
    pub budget_percent: u8,
    /// Retries per second that are always permitted.
    pub budget_min_per_second: u32,
    /// Maximum percentage of retries among the requests in flight; `None` = no limit.
    pub at_once_percent: Option<u8>,
    /// Number of concurrent retries that are always permitted.
    pub at_once_min: u32,
}

/// Settings of a second attempt at another server, beside the first one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HedgePlan {
    /// Delay without a byte of a response; `None` = the 95th percentile of response times.
    pub delay: Option<Millis>,
}

/// Rules for the reuse of server connections.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConnectionReuse {
    /// Maximum number of idle connections for each server and worker; 0 = one connection per request.
    pub idle_max: u32,
    /// Idle timeout of a connection.
    pub idle_timeout: Millis,
    /// Maximum age of a connection that is reused.
    pub age_max: Millis,
    /// Maximum number of requests over one connection; `None` = no limit.
    pub requests_max: Option<u32>,
}

/// Response if no server of the pool is available.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NobodyLeft {
    /// Seconds in the Retry-After header; 0 = no header.
    pub retry_after_s: u32,
    /// Response instead of the 503 error page.
    pub response: Option<FixedResponse>,
}
