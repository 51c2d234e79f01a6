//! A valid listener with its routes.

use ipnet::IpNet;
use serde::Serialize;
use weir_http::{Action, ForwardingRules, HeadLimits, PathRewrite, PathRules, RouteHeaders, RouteMatch};
use weir_model::{BindAddress, ListenerName, Millis, RouteName};

use crate::tls::plan::TlsIn;

/// Listening addresses, and the treatment of their connections (`[listener.NAME]`).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ListenerPlan {
    /// Its name.
    pub name: ListenerName,
    /// Listening addresses; at least one.
    pub bind: Vec<BindAddress>,
    /// TLS towards clients; `None` = plaintext.
    pub tls: Option<TlsIn>,
    /// Peers that must send a PROXY header; `None` = no PROXY headers are read.
    pub proxy_protocol: Option<ProxyProtocolIn>,
    /// Maximum number of connections. Above it, Weir closes other connections or refuses the new one; `None`
    /// = only the process's limit.
    pub connections_max: Option<u32>,
    /// Maximum number of connections of one client; Weir refuses more. `None` = no limit.
    pub connections_per_client_max: Option<u32>,
    /// Size of the kernel's queue of connections not yet accepted.
    pub backlog: u32,
    /// Protocol.
    pub mode: Mode,
}

/// Protocol of a listener.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// HTTP/1.
    Http(HttpPlan),
    /// TCP: Weir forwards bytes.
    Tcp(TcpPlan),
}

/// Settings of an HTTP listener.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HttpPlan {
    /// Routes in order; the first that matches handles the request. The listener's own `pool`, if there is
    /// one, is the last route and matches everything. A request that no route matches gets a 404.
    pub routes: Vec<RoutePlan>,
    /// Time limits for clients.
    pub timeouts: ClientTimeouts,
    /// Size limits of heads.
    pub limits: HeadLimits,
    /// Path rules; `None` = paths stay as the client sent them.
    pub paths: Option<PathRules>,
    /// Forwarding headers that describe the client to servers.
    pub forwarding: ForwardingRules,
    /// Number of requests after which a connection closes; `None` = no limit.
    pub keep_alive_requests_max: Option<u32>,
    /// True if a client that ends its direction still gets its response. Otherwise that end cancels its
    /// request.
    pub half_close: bool,
}

/// Settings of a TCP listener.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TcpPlan {
    /// Routes by the server name in the TLS ClientHello; the first that matches applies. Weir reads the
    /// ClientHello but does not terminate TLS.
    pub sni_routes: Vec<SniRoute>,
    /// Index of the pool for connections that no SNI route matches; `None` = Weir closes them.
    pub pool: Option<usize>,
    /// Idle timeout, for both directions together.
    pub idle_timeout: Millis,
    /// Time limit for the ClientHello and the PROXY header.
    pub head_timeout: Millis,
}

/// A rule that sends a TLS connection to a pool by its server name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SniRoute {
    /// Server names, of which one must match.
    pub hosts: Vec<weir_http::HostPattern>,
    /// Index of the pool.
    pub pool: usize,
}

/// Time limits for clients. Bodies have limits for idle time and rate, never for the total time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ClientTimeouts {
    /// Time limit from the first byte of a request to the end of its head, including PROXY header and TLS
    /// handshake. After it, Weir responds with 408.
    pub head: Millis,
    /// Idle timeout between requests.
    pub idle: Millis,
    /// Idle timeout of a body: no byte in either direction, or no room in the client's window.
    pub body: Millis,
    /// Minimum rate of a body, over `body`, while Weir waits for the client. A slower body ends like an idle
    /// one; 0 = no minimum.
    pub body_bytes_per_second_min: u64,
    /// Idle timeout of an upgraded connection.
    pub tunnel: Millis,
}

/// PROXY protocol settings of a listener.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProxyProtocolIn {
    /// Networks whose connections must begin with a PROXY header. Weir reads no such header from other
    /// addresses.
    pub trusted: Vec<IpNet>,
}

/// Conditions of a route, and its action (`[[route]]`).
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RoutePlan {
    /// Name: configured, `route-N` by its position in the file, or the listener's name for its own `pool`.
    pub name: RouteName,
    /// Position in the file, `file:line`.
    pub origin: String,
    /// Conditions for a request.
    pub matches: RouteMatch,
    /// Action for a request that matches.
    pub action: Action,
    /// Changes to the path.
    pub rewrite: Option<PathRewrite>,
    /// Changes to headers.
    pub headers: RouteHeaders,
    /// Priority of requests that wait for a server.
    pub priority: Priority,
    /// Maximum size of a request body; Weir responds with 413 to a larger one. `None` = no limit.
    pub body_bytes_max: Option<u64>,
}

/// Priority of a request in the queue of a pool; the lowest class goes first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Priority {
    /// Class of requests without the header, or with a header that is not a number.
    pub class: i16,
    /// Request header with the class, which is clamped to the range.
    pub header: Option<String>,
    /// Milliseconds added to the request's arrival time within its class; negative = earlier. Applies without
    /// the header, or with a header that is not a number.
    pub offset_ms: i32,
    /// Request header with the offset, which is clamped to the range.
    pub offset_header: Option<String>,
}

impl Priority {
    /// Lowest class, which goes first.
    pub const MIN: i16 = -1024;
    /// Highest class, which goes last.
    pub const MAX: i16 = 1024;
    /// Largest offset in either direction, in milliseconds; the same as in HAProxy.
    pub const OFFSET_MAX_MS: i32 = 524_287;

    /// Returns the class nearest to `number`.
    pub fn in_range(number: i64) -> i16 {
        number.clamp(Self::MIN.into(), Self::MAX.into()) as i16
    }

    /// Returns the offset nearest to `number`.
    pub fn offset_in_range(number: i64) -> i32 {
        number.clamp((-Self::OFFSET_MAX_MS).into(), Self::OFFSET_MAX_MS.into()) as i32
    }
}
