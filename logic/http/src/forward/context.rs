//! Data about an exchange that the forwarder needs for requests and responses.

use weir_model::ServerName;

use super::Peer;
use crate::{CookieEdit, RequestHead, SetCookieEdit, Variables, Version, split_authority};

/// The scheme of a URI, which determines its default port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// `http`, port 80.
    Http,
    /// `https`, port 443.
    Https,
}

impl Scheme {
    /// Returns the name of the scheme.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    pub(super) const fn default_port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}

/// The participants of an exchange, which are the same for request and response.
#[derive(Debug, Clone, Copy)]
pub struct Exchange<'a> {
    /// Peer of the connection, created by [`super::Forwarder::peer`] once per connection.
    pub peer: &'a Peer,
    /// Client: the peer, or the client that a trusted peer names ([`Peer::named_client`]).
    pub client: &'a Peer,
    /// Request id to forward; empty = none.
    pub request_id: &'a str,
    /// Name of the listener.
    pub listener: &'a str,
    /// Name of the route.
    pub route: &'a str,
    /// Name of the pool.
    pub pool: &'a str,
    /// Name of the server, once it is chosen. Read only on demand, because the names of thousands of servers
    /// do not fit into a CPU cache.
    pub server: Option<&'a ServerName>,
    /// TLS session of the client; `None` = plaintext.
    pub tls: Option<&'a TlsNames<'a>>,
}

/// The TLS session of a client, as text.
#[derive(Debug, Clone, Copy, Default)]
pub struct TlsNames<'a> {
    /// Version, `1.2` or `1.3`.
    pub version: &'a str,
    /// IANA name of the cipher suite.
    pub cipher: &'a str,
    /// Server name that the client requested (SNI).
    pub sni: &'a str,
    /// Subject of the client's certificate.
    pub client_subject: &'a str,
}

/// The data to forward a request to its server.
#[derive(Debug, Clone, Copy)]
pub struct RequestContext<'a> {
    /// Participants of the exchange.
    pub exchange: Exchange<'a>,
    /// Scheme of the connection to the server; `Destination` uses it, too.
    pub server_scheme: Scheme,
    /// Host for requests without one (HTTP/1.0), such as the server's address; may be empty (RFC 9112 section
    /// 3.2).
    pub default_host: &'a str,
    /// True to forward Upgrade, if the head has [`RequestHead::upgrade`].
    pub upgrade: bool,
    /// True to forward Expect; if false, Expect is removed and the caller sends `100 Continue`.
    pub pass_expect: bool,
    /// True to ask the server to close the connection after this exchange.
    pub close: bool,
    /// Edit of Weir's own cookie.
    pub cookie: CookieEdit<'a>,
}

/// The parts of a request that its response needs, if [`super::RouteRewriter::needs_request`] returns true.
#[derive(Debug, Clone, Copy, Default)]
pub struct RequestText<'a> {
    /// Method.
    pub method: &'a [u8],
    /// Host with port, from [`RequestHead::host`].
    pub host: &'a [u8],
    /// Path.
    pub path: &'a [u8],
    /// Query without `?`.
    pub query: Option<&'a [u8]>,
}

impl<'a> RequestText<'a> {
    /// Borrows the parts from a head in its buffer.
    pub fn of(head: &RequestHead, buf: &'a [u8]) -> Self {
        Self {
            method: head.method.bytes(buf),
            host: head.host.map(|host| host.of(buf)).unwrap_or_default(),
            path: head.target.path_or_root(buf),
            query: head.target.query.map(|query| query.of(buf)),
        }
    }
}

/// The data to forward a response to its client.
#[derive(Debug, Clone, Copy)]
pub struct ResponseContext<'a> {
    /// Participants of the exchange.
    pub exchange: Exchange<'a>,
    /// Request of this response, if it is needed.
    pub request: RequestText<'a>,
    /// Scheme of the connection to the server.
    pub server_scheme: Scheme,
    /// HTTP version of the client.
    pub client_version: Version,
    /// Time of receipt, for the Date header of a response without one (RFC 9110 section 6.6.1); empty = add
    /// none.
    pub date: &'a str,
    /// True if the client's connection may stay open: [`RequestHead::keep_alive`] is set and nothing else
    /// requires a close.
    pub keep_alive: bool,
    /// Edit of the cookie that identifies the server; `None` = forward cookies unchanged.
    pub cookie: Option<SetCookieEdit<'a>>,
    /// True if a server wrote the response, false for this process. A server's headers about files
    /// ([`KnownHeader::XAccel`](crate::KnownHeader)) must not reach clients.
    pub from_server: bool,
}

/// The result of forwarding a response head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResponseWritten {
    /// True if the client's connection stays open after the body.
    pub keep_alive: bool,
    /// True if the body must go through a [`crate::Dechunker`], because the client supports only HTTP/1.0.
    pub dechunk: bool,
}

impl<'a> Exchange<'a> {
    /// Returns the variables of templates.
    pub fn variables(&self, scheme: Scheme, request: &RequestText<'a>) -> Variables<'a> {
        let tls = self.tls.copied().unwrap_or_default();
        Variables {
            client_ip: self.client.ip_text(),
            client_port: self.client.port(),
            host: split_authority(request.host).map(|(host, _)| host).unwrap_or_default(),
            path: request.path,
            query: request.query,
            method: request.method,
            scheme: scheme.as_str(),
            listener: self.listener,
            route: self.route,
            pool: self.pool,
            server: self.server.map_or("", ServerName::as_str),
            request_id: self.request_id,
            tls_version: tls.version,
            tls_cipher: tls.cipher,
            tls_sni: tls.sni,
            tls_client_subject: tls.client_subject,
        }
    }
}
