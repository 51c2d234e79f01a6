//! A valid listener with its routes.

use ipnet::IpNet;
use serde::Serialize;
use weir_http::{Action, ForwardingRules, HeadLimits, PathRewrite, PathRules, RouteHeaders, RouteMatch};
use weir_model::{BindAddress, ListenerName, Millis, RouteName};

use crate::tls::plan::TlsIn;

/// An address that accepts, and what becomes of what it accepts (`[listener.NAME]`).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ListenerPlan {
    /// Its name.
    pub name: ListenerName,
    /// Where it accepts; at least one.
    pub bind: Vec<BindAddress>,
    /// TLS towards clients; `None` = plaintext.
    pub tls: Option<TlsIn>,
    /// Peers that must send a PROXY header; `None` = nobody's is read.
    pub proxy_protocol: Option<ProxyProtocolIn>,
    /// With more connections than this, others give way or the new one is refused; `None` = only the process's limit.
    pub connections_max: Option<u32>,
    /// Connections of one client, above which more are refused; `None` = no limit.
    pub connections_per_client_max: Option<u32>,
    /// The kernel's queue of connections not yet accepted.
    pub backlog: u32,
    /// What is spoken.
    pub mode: Mode,
}

/// What a listener speaks.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// HTTP/1.
    Http(HttpPlan),
    /// Bytes.
    Tcp(TcpPlan),
}

/// An HTTP listener's part.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HttpPlan {
    /// In order; the first that matches takes the request. The listener's own `pool`, if it has one, is the last of
    /// them, and matches everything. What nobody takes is answered 404.
    pub routes: Vec<RoutePlan>,
    /// How long clients may take.
    pub timeouts: ClientTimeouts,
    /// How large heads may be.
    pub limits: HeadLimits,
    /// How paths are read; `None` = as they were sent.
    pub paths: Option<PathRules>,
    /// What servers are told of the client.
    pub forwarding: ForwardingRules,
    /// Requests on one connection, after which it is closed; `None` = no limit.
    pub keep_alive_requests_max: Option<u32>,
    /// Clients may end their direction and still get their response; else the end of it ends their request.
    pub half_close: bool,
}

/// A TCP listener's part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TcpPlan {
    /// By the server name in the TLS ClientHello, which is read but not ended here; the first that matches.
    pub sni_routes: Vec<SniRoute>,
    /// Index of the pool for what `sni_routes` do not take; `None` = closed.
    pub pool: Option<usize>,
    /// No byte in either direction for this long ends the connection.
    pub idle_timeout: Millis,
    /// How long the ClientHello and the PROXY header may take.
    pub head_timeout: Millis,
}

/// Sends a TLS connection to a pool by its server name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SniRoute {
    /// Names; one suffices.
    pub hosts: Vec<weir_http::HostPattern>,
    /// Index of the pool.
    pub pool: usize,
}

/// How long clients may take. Bodies are limited by idleness and rate, never by total time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ClientTimeouts {
    /// From the first byte of a request to the end of its head, PROXY header and TLS handshake included. Over it: 408.
    pub head: Millis,
    /// Between requests.
    pub idle: Millis,
    /// No byte of a body in either direction, or no room in the client's window.
    pub body: Millis,
    /// A body of which a client that is waited for sends or takes fewer bytes per second over `body` ends like an idle one; 0 = off.
    pub body_bytes_per_second_min: u64,
    /// No byte in either direction of an upgraded connection.
    pub tunnel: Millis,
}

/// Who speaks the PROXY protocol to a listener.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProxyProtocolIn {
    /// From these networks a header is required; from anywhere else none is read.
    pub trusted: Vec<IpNet>,
}

/// What requests a route takes, and what it does with them (`[[route]]`).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RoutePlan {
    /// Its name, or `route-N` by its place in the file, or the listener's name for its own `pool`.
    pub name: RouteName,
    /// Where it stands, `file:line`.
    pub origin: String,
    /// What a request must be like.
    pub matches: RouteMatch,
    /// What happens to it.
    pub action: Action,
    /// Changes to the path.
    pub rewrite: Option<PathRewrite>,
    /// Changes to headers.
    pub headers: RouteHeaders,
    /// Who goes first if requests have to wait for a server.
    pub priority: Priority,
    /// A larger request body is answered 413; `None` = any size.
    pub body_bytes_max: Option<u64>,
}

/// A request's place among those who wait for a server of a pool; the lowest is served first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Priority {
    /// What holds without a header, or with one that is no number.
    pub class: i16,
    /// A request header that has a number, which is brought into the range.
    pub header: Option<String>,
    /// Within its class, a request counts as having come so many milliseconds later (negative: earlier) than it did. What holds without a
    /// header, or with one that is no number.
    pub offset_ms: i32,
    /// A request header that has such a number, which is brought into the range.
    pub offset_header: Option<String>,
}

impl Priority {
    /// What goes before everything else.
    pub const MIN: i16 = -1024;
    /// What goes after everything else.
    pub const MAX: i16 = 1024;
    /// The offset that is most to either side, in milliseconds; HAProxy's.
    pub const OFFSET_MAX_MS: i32 = 524_287;

    /// The class that is nearest to `number`.
    pub fn in_range(number: i64) -> i16 {
        number.clamp(Self::MIN.into(), Self::MAX.into()) as i16
    }

    /// The offset that is nearest to `number`.
    pub fn offset_in_range(number: i64) -> i32 {
        number.clamp((-Self::OFFSET_MAX_MS).into(), Self::OFFSET_MAX_MS.into()) as i32
    }
}
