use weir_model::ServerName;

use super::Peer;
use crate::{CookieEdit, RequestHead, SetCookieEdit, Variables, Version, split_authority};

/// The scheme of a URI; which port is the default one depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// http, port 80
    Http,
    /// https, port 443
    Https,
}

impl Scheme {
    /// The scheme's name.
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

/// Who takes part in an exchange: what stays the same for request and response.
#[derive(Debug, Clone, Copy)]
pub struct Exchange<'a> {
    /// Who has connected, made by [`super::Forwarder::peer`] once per connection.
    pub peer: &'a Peer,
    /// The client: the peer, or whom it names if it is trusted ([`Peer::named_client`]).
    pub client: &'a Peer,
    /// The request's id; empty = none is sent.
    pub request_id: &'a str,
    /// Name of the listener.
    pub listener: &'a str,
    /// Name of the route.
    pub route: &'a str,
    /// Name of the pool.
    pub pool: &'a str,
    /// Name of the server, once one is chosen. Read only where something asks for it: of thousands no cache holds it.
    pub server: Option<&'a ServerName>,
    /// The client's TLS session; `None` = plaintext.
    pub tls: Option<&'a TlsNames<'a>>,
}

/// A client's TLS session, as text.
#[derive(Debug, Clone, Copy, Default)]
pub struct TlsNames<'a> {
    /// `1.2` or `1.3`.
    pub version: &'a str,
    /// IANA name of the cipher suite.
    pub cipher: &'a str,
    /// The server name the client asked for.
    pub sni: &'a str,
    /// Subject of the client's certificate.
    pub client_subject: &'a str,
}

/// How a request goes to its server.
#[derive(Debug, Clone, Copy)]
pub struct RequestContext<'a> {
    /// Who takes part.
    pub exchange: Exchange<'a>,
    /// The scheme the server is spoken to with; `Destination` follows it.
    pub server_scheme: Scheme,
    /// Host for requests that have none (HTTP/1.0), such as the server's address; may be empty (RFC 9112 section 3.2).
    pub default_host: &'a str,
    /// Pass Upgrade on, if the head has [`RequestHead::upgrade`].
    pub upgrade: bool,
    /// Pass Expect on; else it is removed, and the caller answers `100 Continue`.
    pub pass_expect: bool,
    /// Ask the server to close after this exchange.
    pub close: bool,
    /// What becomes of a cookie that is Weir's own.
    pub cookie: CookieEdit<'a>,
}

/// What is left of a request when its response comes. Needed only where [`super::RouteRewriter::needs_request`] says so.
#[derive(Debug, Clone, Copy, Default)]
pub struct RequestText<'a> {
    /// Method.
    pub method: &'a [u8],
    /// [`RequestHead::host`], with port.
    pub host: &'a [u8],
    /// Path.
    pub path: &'a [u8],
    /// Query without `?`.
    pub query: Option<&'a [u8]>,
}

impl<'a> RequestText<'a> {
    /// Of a head in its buffer.
    pub fn of(head: &RequestHead, buf: &'a [u8]) -> Self {
        Self {
            method: head.method.bytes(buf),
            host: head.host.map(|host| host.of(buf)).unwrap_or_default(),
            path: head.target.path_or_root(buf),
            query: head.target.query.map(|query| query.of(buf)),
        }
    }
}

/// How a response goes to its client.
#[derive(Debug, Clone, Copy)]
pub struct ResponseContext<'a> {
    /// Who takes part.
    pub exchange: Exchange<'a>,
    /// The request, where it is needed.
    pub request: RequestText<'a>,
    /// The scheme the server was spoken to with.
    pub server_scheme: Scheme,
    /// The client's version.
    pub client_version: Version,
    /// The time of receipt, added as Date to a response that has none (RFC 9110 section 6.6.1); empty = none is added.
    pub date: &'a str,
    /// Whether the client's connection may stay open: [`RequestHead::keep_alive`], and nothing speaks against it.
    pub keep_alive: bool,
    /// The cookie that names the server; `None` = cookies pass as they are.
    pub cookie: Option<SetCookieEdit<'a>>,
    /// A server wrote it, and not this process: what it says of files ([`KnownHeader::XAccel`](crate::KnownHeader)) is not
    /// for clients.
    pub from_server: bool,
}

/// What became of a response head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResponseWritten {
    /// The client's connection stays open after the body.
    pub keep_alive: bool,
    /// The body must go through a [`crate::Dechunker`]: the client speaks only HTTP/1.0.
    pub dechunk: bool,
}

impl<'a> Exchange<'a> {
    /// For templates.
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
