//! The record of a request for the access log.

use std::net::SocketAddr;

use super::Termination;
use crate::RefusalRule;

/// The facts about a finished request, or about a TCP connection. Borrowed, so that creating one copies
/// nothing.
#[derive(Debug, Clone, Copy)]
pub struct AccessRecord<'a> {
    /// Time of the first byte (TCP: of the accept), in microseconds since 1970 (UTC).
    pub start_unix_us: u64,
    /// Client: the peer of the connection (after the PROXY protocol), or the client that a trusted peer
    /// names.
    pub client: Client,
    /// Peer of the connection, if it is a trusted peer that names the client; else `None`.
    pub peer: Option<SocketAddr>,
    /// Kind of the record, with the fields of the request.
    pub subject: Subject<'a>,
    /// Status that the client received; `None` = no response.
    pub status: Option<u16>,
    /// Bytes read from the client, with the head.
    pub bytes_in: u64,
    /// Bytes sent to the client, with the head.
    pub bytes_out: u64,
    /// Bytes of the response body among them, for the NCSA formats.
    pub body_bytes_out: u64,
    /// Name of the listener.
    pub listener: &'a str,
    /// Name of the matching route.
    pub route: Option<&'a str>,
    /// Name of the chosen pool.
    pub pool: Option<&'a str>,
    /// Name of the last server tried.
    pub server: Option<&'a str>,
    /// Address of that server.
    pub server_address: Option<&'a str>,
    /// TLS session of the client; `None` = plaintext.
    pub tls: Option<TlsSession<'a>>,
    /// Durations of the phases.
    pub timings: Timings,
    /// Attempts after the first one.
    pub retries: u32,
    /// True if a retry went to another server.
    pub redispatched: bool,
    /// Result of a hedged request, if a second attempt ran in parallel to a slow first one: true if the
    /// client received the response of the second attempt.
    pub hedge_won: Option<bool>,
    /// True if the server named a file for Weir to send as the body.
    pub offloaded: bool,
    /// Termination state.
    pub termination: Termination,
    /// Rule that the request broke, if that was the reason to refuse it.
    pub refused_by: Option<RefusalRule>,
    /// Connection and request counts at the end of the request.
    pub active: ActiveCounts,
}

/// The client of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Client {
    /// Address of the client; port 0 = unknown.
    Inet(SocketAddr),
    /// A client on a Unix socket.
    Unix,
}

/// The kind of a record.
#[derive(Debug, Clone, Copy)]
pub enum Subject<'a> {
    /// A TCP connection.
    Connection,
    /// Data that could not be parsed as a request, or a request that did not arrive in time.
    BadRequest {
        /// Request id of the error response.
        request_id: Option<&'a [u8]>,
    },
    /// A request.
    Request(RequestFields<'a>),
}

/// The fields of a request for its line, as the client sent them.
#[derive(Debug, Clone, Copy, Default)]
pub struct RequestFields<'a> {
    /// The method.
    pub method: &'a [u8],
    /// The request target.
    pub target: &'a [u8],
    /// Path that the rules compared, if it differs from the path of the target.
    pub path: Option<&'a [u8]>,
    /// Version, e.g. `HTTP/1.1`.
    pub version: &'a [u8],
    /// Host header.
    pub host: Option<&'a [u8]>,
    /// Referer header.
    pub referer: Option<&'a [u8]>,
    /// User-Agent header.
    pub user_agent: Option<&'a [u8]>,
    /// Request id that Weir created or passed on.
    pub request_id: Option<&'a [u8]>,
}

/// A client's TLS session.
#[derive(Debug, Clone, Copy)]
pub struct TlsSession<'a> {
    /// Version, e.g. `TLSv1.3`.
    pub version: &'a str,
    /// IANA name of the cipher suite.
    pub cipher: &'a str,
}

/// The durations of a request's phases in microseconds; `None` = the request did not reach the phase.
#[derive(Debug, Clone, Copy, Default)]
pub struct Timings {
    /// Time from the first byte of the request to the end of its head (HAProxy's TR).
    pub head_us: Option<u64>,
    /// Time in a queue for a server (Tw).
    pub queue_us: Option<u64>,
    /// Time to connect to the server, with retries (Tc); 0 on a reused connection.
    pub connect_us: Option<u64>,
    /// Time from the connection to the end of the response head (Tr).
    pub first_byte_us: Option<u64>,
    /// Time from the first byte of the request to the last byte of the response (Ta; TCP: Tt).
    pub total_us: u64,
}

/// The load when a record is written, including the request itself.
#[derive(Debug, Clone, Copy, Default)]
pub struct ActiveCounts {
    /// Client connections of the process (HAProxy's actconn).
    pub process: u32,
    /// Client connections of the listener (feconn).
    pub listener: u32,
    /// Requests in flight in the pool (beconn).
    pub pool: u32,
    /// Requests in flight at the server (srvconn).
    pub server: u32,
    /// Requests ahead in the queue of the server that the request is bound to (srv_queue).
    pub server_queue: u32,
    /// Requests ahead in the queue of the pool (backend_queue).
    pub pool_queue: u32,
}
