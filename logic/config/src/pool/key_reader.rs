//! Reads the hash key of a pool from requests and connections. The proxy and `weir explain` share this code.

use std::net::{IpAddr, SocketAddr};

use weir_balance::{HashOptions, Key};
use weir_http::expression::ExpressionError;
use weir_http::{RequestKeyReader, RouteRequest};

use super::balance::plan::KeyPlan;
use super::plan::PoolPlan;

/// Reader of a pool's hash key.
#[derive(Debug)]
pub struct KeyReader {
    kind: Kind,
    options: HashOptions,
}

#[derive(Debug)]
enum Kind {
    /// The algorithm uses no key.
    Unused,
    Source,
    Destination,
    RdpCookie(String),
    Request(RequestKeyReader),
}

impl KeyReader {
    /// Compiles the reader for a pool.
    ///
    /// # Errors
    /// If the key is an invalid expression, which no loaded config has.
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

    /// Returns the key of an HTTP request.
    ///
    /// - `target`: the target of the request line;
    /// - `peer`: the remote address of the connection, which may belong to a proxy;
    /// - `destination`: the local address of the connection, only called if the key needs it.
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

    /// Returns the key of a connection in TCP mode. `cookie`: its remote desktop cookie, if it is needed and
    /// present.
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

    /// Returns the name of the remote desktop cookie that must be read before the choice of a server.
    pub fn rdp_cookie(&self) -> Option<&str> {
        match &self.kind {
            Kind::RdpCookie(name) => Some(name),
            _ => None,
        }
    }
}
