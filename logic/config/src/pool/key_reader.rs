//! What a pool's hash goes by, read from requests and connections: the same for the proxy and for `weir explain`.

use std::net::{IpAddr, SocketAddr};

use weir_balance::{HashOptions, Key};
use weir_http::expression::ExpressionError;
use weir_http::{RequestKeyReader, RouteRequest};

use super::balance::plan::KeyPlan;
use super::plan::PoolPlan;

/// Finds the key of a pool.
#[derive(Debug)]
pub struct KeyReader {
    kind: Kind,
    options: HashOptions,
}

#[derive(Debug)]
enum Kind {
    /// The algorithm asks for none.
    Unused,
    Source,
    Destination,
    RdpCookie(String),
    Request(RequestKeyReader),
}

impl KeyReader {
    /// That of this pool. Fails only for an expression that no config has let through.
    pub fn compile(pool: &PoolPlan) -> Result<Self, ExpressionError> {
        let kind = match &pool.hash.key {
            _ if !pool.algorithm.takes_key() => Kind::Unused,
            KeyPlan::Source => Kind::Source,
            KeyPlan::Destination => Kind::Destination,
            KeyPlan::RdpCookie(name) => Kind::RdpCookie(name.clone()),
            KeyPlan::Request(key) => Kind::Request(RequestKeyReader::compile(key)?),
        };
        Ok(Self { kind, options: pool.hash.options })
    }

    /// That of an HTTP request. `target` is that of the request line; `peer` has connected, and need not be the client; the
    /// `destination`, what it has connected to, is asked for only where it counts.
    pub fn of_request(
        &self,
        request: &RouteRequest<'_>,
        target: &[u8],
        peer: Option<SocketAddr>,
        destination: impl FnOnce() -> Option<SocketAddr>,
    ) -> Option<Key> {
        match &self.kind {
            Kind::Unused | Kind::RdpCookie(_) => None,
            Kind::Source => {
                let client = request.client?;
                let port = peer.filter(|peer| peer.ip() == client).map_or(0, |peer| peer.port());
                Some(self.source(client, port))
            }
            Kind::Destination => Some(Key::from(destination()?.ip())),
            Kind::Request(reader) => Some(self.options.key_of(&reader.read(request, target)?)),
        }
    }

    /// That of a connection in TCP mode; `cookie` is its remote desktop cookie, if it was asked for and is there.
    pub fn of_connection(
        &self,
        source: Option<SocketAddr>,
        destination: impl FnOnce() -> Option<SocketAddr>,
        cookie: Option<&[u8]>,
    ) -> Option<Key> {
        match &self.kind {
            Kind::Unused | Kind::Request(_) => None,
            Kind::Source => source.map(|source| self.source(source.ip(), source.port())),
            Kind::Destination => Some(Key::from(destination()?.ip())),
            Kind::RdpCookie(_) => Some(self.options.key_of(cookie.filter(|value| !value.is_empty())?)),
        }
    }

    fn source(&self, address: IpAddr, port: u16) -> Key {
        Key::Address(address, if self.options.port { port } else { 0 })
    }

    /// The name of the remote desktop cookie to look for before a server is chosen.
    pub fn rdp_cookie(&self) -> Option<&str> {
        match &self.kind {
            Kind::RdpCookie(name) => Some(name),
            _ => None,
        }
    }
}
