use std::net::SocketAddr;

use super::Termination;
use crate::RefusalRule;

/// What is known of a request (TCP: of a connection) when it has ended. Borrowed: building one copies nothing.
#[derive(Debug, Clone, Copy)]
pub struct AccessRecord<'a> {
    /// When its first byte came (TCP: when the connection was accepted), in microseconds since 1970 (UTC).
    pub start_unix_us: u64,
    /// Who sent it: whoever has connected, the PROXY protocol's word included, or the client that a trusted peer names.
    pub client: Client,
    /// Who has connected, where a trusted peer names the client; else `None`.
    pub peer: Option<SocketAddr>,
    /// What was logged.
    pub subject: Subject<'a>,
    /// The status that the client got; `None` = it got none.
    pub status: Option<u16>,
    /// Read from the client, head included.
    pub bytes_in: u64,
    /// Sent to the client, head included.
    pub bytes_out: u64,
    /// Of these, the bytes of the response's body: what the NCSA formats count.
    pub body_bytes_out: u64,
    /// The listener.
    pub listener: &'a str,
    /// The route that took it.
    pub route: Option<&'a str>,
    /// The pool it went to.
    pub pool: Option<&'a str>,
    /// The last server it was sent to.
    pub server: Option<&'a str>,
    /// That server's address.
    pub server_address: Option<&'a str>,
    /// The client's TLS session; `None` = plaintext.
    pub tls: Option<TlsSession<'a>>,
    /// How long its parts took.
    pub timings: Timings,
    /// Further tries after the first.
    pub retries: u32,
    /// A further try went to another server.
    pub redispatched: bool,
    /// A second try was made beside a slow first one; whether its response was passed on.
    pub hedge_won: Option<bool>,
    /// The server named a file, and Weir was to send that in place of a body.
    pub offloaded: bool,
    /// How it ended.
    pub termination: Termination,
    /// What was wrong with it, if it was refused for that.
    pub refused_by: Option<RefusalRule>,
    /// How busy everything was when it ended.
    pub active: ActiveCounts,
}

/// Who sent a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Client {
    /// From here; port 0 = not known.
    Inet(SocketAddr),
    /// Through a Unix socket.
    Unix,
}

/// What is logged.
#[derive(Debug, Clone, Copy)]
pub enum Subject<'a> {
    /// A TCP connection.
    Connection,
    /// Something that could not be read as a request, or did not come in time.
    BadRequest {
        /// The id that its answer has.
        request_id: Option<&'a [u8]>,
    },
    /// A request.
    Request(RequestFields<'a>),
}

/// The parts of a request that go into a line, as the client sent them.
#[derive(Debug, Clone, Copy, Default)]
pub struct RequestFields<'a> {
    /// The method.
    pub method: &'a [u8],
    /// The request target.
    pub target: &'a [u8],
    /// The path that rules have compared, where it is not that of the target.
    pub path: Option<&'a [u8]>,
    /// `HTTP/1.1` and the like.
    pub version: &'a [u8],
    /// Host.
    pub host: Option<&'a [u8]>,
    /// Referer.
    pub referer: Option<&'a [u8]>,
    /// User-Agent.
    pub user_agent: Option<&'a [u8]>,
    /// The request id that was created or passed on.
    pub request_id: Option<&'a [u8]>,
}

/// A client's TLS session.
#[derive(Debug, Clone, Copy)]
pub struct TlsSession<'a> {
    /// `TLSv1.3` and the like.
    pub version: &'a str,
    /// The IANA name.
    pub cipher: &'a str,
}

/// How long the parts of a request took, in microseconds; `None` = it did not get that far.
#[derive(Debug, Clone, Copy, Default)]
pub struct Timings {
    /// From the first byte of the request to the end of its head (HAProxy's TR).
    pub head_us: Option<u64>,
    /// Waiting for a server (Tw).
    pub queue_us: Option<u64>,
    /// Connecting to the server, retries included (Tc); 0 over a connection that was open.
    pub connect_us: Option<u64>,
    /// From there to the end of the response's head (Tr).
    pub first_byte_us: Option<u64>,
    /// From the first byte of the request to the last of the response (Ta; TCP: Tt).
    pub total_us: u64,
}

/// How busy everything was when a record was written, the request itself included.
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
    /// Requests that were ahead in the queue of the server that it is bound to (srv_queue).
    pub server_queue: u32,
    /// Requests that were ahead in the pool's queue (backend_queue).
    pub pool_queue: u32,
}
