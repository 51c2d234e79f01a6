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

/// Servers that can answer, and how to choose (`[pool.NAME]`).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PoolPlan {
    /// Its name.
    pub name: PoolName,
    /// How it chooses.
    pub algorithm: Algorithm,
    /// What it goes by, for the algorithms that hash.
    pub hash: HashPlan,
    /// Clients stay with their server; `None` = each request is balanced by itself.
    pub sticky: Option<StickyPlan>,
    /// What the algorithms that draw servers or go by measurements are told.
    pub measure: MeasureOptions,
    /// In file order, names unique. May be empty: servers can be added at runtime.
    pub servers: Vec<ServerPlan>,
    /// Requests (TCP: connections) at once, in all; `None` = no limit.
    pub connections_max: Option<u32>,
    /// Who may wait for a server, and in what order.
    pub queue: QueuePlan,
    /// A limit for each server that follows its latency; `None` = off.
    pub concurrency: Option<ConcurrencyRule>,
    /// Active checks; `None` = servers count as up.
    pub check: Option<CheckPlan>,
    /// A program beside each server that says how it is; `None` = there is none.
    pub agent: Option<AgentPlan>,
    /// How the weight of a server rises that has come up; `None` = at once.
    pub slow_start: Option<SlowStart>,
    /// How the weights of servers are found by measurement.
    pub auto_weight: AutoWeightPlan,
    /// Which of its servers take part.
    pub membership: Membership,
    /// The zone whose servers are preferred; `None` = zones do not count.
    pub zone: Option<ZoneName>,
    /// Ejection by real traffic; `None` = off.
    pub ejection: Option<EjectionRule>,
    /// Keeps requests away while too many fail; `None` = off.
    pub breaker: Option<BreakerRule>,
    /// TLS towards its servers; `None` = plaintext.
    pub tls: Option<TlsOut>,
    /// A PROXY header towards its servers.
    pub proxy_protocol: Option<ProxyProtocolOut>,
    /// How long servers may take.
    pub timeouts: ServerTimeouts,
    /// When a request is tried again.
    pub retry: RetryPlan,
    /// A second try beside a slow first one; `None` = off.
    pub hedge: Option<HedgePlan>,
    /// How server connections are kept.
    pub reuse: ConnectionReuse,
    /// A request whose body says that it is no longer than this is read whole before a server is chosen; `None` = none is. In bytes.
    pub collected_body_bytes_max: Option<u64>,
    /// What clients get when no server is left.
    pub nobody_left: NobodyLeft,
    /// Clients are sent on to the servers; `None` = their requests are passed on.
    pub redirect: Option<RedirectPlan>,
    /// Faults in the heads of responses that are mended.
    pub lenient: Lenient,
    /// Files that servers may have sent by naming them; `None` = none.
    pub offload: Option<OffloadPlan>,
}

impl PoolPlan {
    /// The algorithm with its options.
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
    /// Its name, unique in the pool; the address where none is given.
    pub name: ServerName,
    /// Where it listens.
    pub address: ServerAddress,
    /// Its share; to begin with, where it is found by measurement.
    pub weight: Weight,
    /// Its weight is found by measurement; these of its speeds are given. `None` = the weight is what it is.
    pub auto_weight: Option<KnownSpeeds>,
    /// Gets requests only when no other server can.
    pub backup: bool,
    /// Gets requests only when no server of a lower number can.
    pub priority: u16,
    /// Where it is.
    pub zone: Option<ZoneName>,
    /// Where its agent listens, if not where the others' do.
    pub agent_port: Option<u16>,
    /// Requests (TCP: connections) at once; `None` = no limit.
    pub connections_max: Option<u32>,
}

/// How weights are found (`auto-weight = ...`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AutoWeightPlan {
    /// Weights are found: a server of the pool has `weight = "auto"`, or the pool has none and `auto-weight` is for those that come.
    pub is_on: bool,
    /// GET and HEAD requests for these make servers fetch; others make them compute.
    pub static_paths: Vec<PathPattern>,
    /// Between two judgements.
    pub interval: Millis,
    /// The bounds.
    pub rule: AutoWeightRule,
}

/// A program beside each server, asked over TCP how the server is (`agent = ...`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AgentPlan {
    /// Where it listens, at the server's address.
    pub port: u16,
    /// Between the end of one answer and the next question.
    pub interval: Millis,
    /// From the connect to the end of the answer.
    pub timeout: Millis,
    /// What is sent to it first; `None` = nothing.
    pub send: Option<String>,
}

/// Active checks (`check = ...`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckPlan {
    /// What is done.
    pub kind: CheckKind,
    /// When, and what it takes to change state.
    pub timing: CheckTiming,
    /// Another port than the server's.
    pub port: Option<u16>,
}

/// What an active check does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CheckKind {
    /// Connects.
    Tcp,
    /// Connects and ends a TLS handshake, by the pool's TLS rules (or with the defaults, if it has none).
    Tls,
    /// Sends a request, over TLS if the pool uses it.
    Http(HttpCheck),
}

/// An HTTP check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HttpCheck {
    /// The method.
    pub method: String,
    /// The request target.
    pub path: String,
    /// The Host header; `None` = the server's address.
    pub host: Option<String>,
    /// Further headers.
    pub headers: Vec<(String, String)>,
    /// Accepted statuses, as inclusive ranges.
    pub expect_status: Vec<(u16, u16)>,
    /// A header that must be there, and what its value must contain.
    pub expect_header: Option<(String, String)>,
    /// What the first 64 KiB of the body must contain.
    pub expect_body: Option<String>,
}

/// Which PROXY header servers get.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProxyProtocolOut {
    /// Version 1, text.
    V1,
    /// Version 2, binary.
    V2,
}

/// How long servers may take.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ServerTimeouts {
    /// To connect, TLS handshake included.
    pub connect: Millis,
    /// From the last byte of the request to the first of the response head. Over it: 504.
    pub response: Millis,
    /// No byte of a body in either direction.
    pub idle: Millis,
    /// To wait for a free server when all are at their limit; 0 = answered at once.
    pub queue: Millis,
}

/// Who may wait for a server, and in what order. How long is one of the timeouts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct QueuePlan {
    /// So many may wait at once; `None` = any number.
    pub length_max: Option<u32>,
    /// So many may wait for one server, where they are bound to it; further ones are sent to another. `None` = any number.
    pub server_length_max: Option<u32>,
    /// Whether those of one priority get their turns by client.
    pub fair: Fairness,
}

/// Between whom the turns go round.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fairness {
    /// Whoever came first is next.
    None,
    /// Addresses of clients; of an IPv6 address the /64 counts.
    Client,
    /// Values of this request header; without one, and in TCP mode, the client's address.
    Header(String),
}

/// When a request is tried again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RetryPlan {
    /// Further tries after the first; 0 = none.
    pub attempts: u8,
    /// Retries may be this share of the pool's requests, 0 to 100 percent, once `budget_min_per_second` is used.
    pub budget_percent: u8,
    /// Retries per second that are always permitted.
    pub budget_min_per_second: u32,
    /// Of the requests in flight no more than this share may be retries at once, in percent; `None` = any number.
    pub at_once_percent: Option<u8>,
    /// So many always may.
    pub at_once_min: u32,
}

/// A second try at another server, beside the first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HedgePlan {
    /// When no byte of a response has come for so long; `None` = for longer than 95 of 100 responses take.
    pub delay: Option<Millis>,
}

/// How connections to servers are kept for further requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ConnectionReuse {
    /// Idle connections for each server and worker; 0 = one connection per request.
    pub idle_max: u32,
    /// An idle connection is closed after this long.
    pub idle_timeout: Millis,
    /// A connection is not used again when older than this.
    pub age_max: Millis,
    /// Requests over one connection; `None` = no limit.
    pub requests_max: Option<u32>,
}

/// What clients get when no server of the pool can be used.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NobodyLeft {
    /// The Retry-After header, in seconds; 0 = none.
    pub retry_after_s: u32,
    /// Instead of the 503 error page.
    pub response: Option<FixedResponse>,
}
