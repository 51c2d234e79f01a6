use std::fmt;
use std::net::{IpAddr, SocketAddr};

use super::Command;

/// Between whom the client's connection to the proxy runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoints {
    /// Internet addresses. When parsed, both are of one family, and that is IPv4 wherever both can be written so.
    Inet {
        /// The client.
        source: SocketAddr,
        /// What it connected to.
        destination: SocketAddr,
    },
    /// Unix sockets (version 2 only). Boxed: they are rare, and ten times as long as the others.
    Unix(Box<UnixEndpoints>),
    /// The sender does not say (`UNKNOWN`, `UNSPEC`): the connection's real addresses count.
    Unknown,
}

impl Endpoints {
    /// A sender whose socket takes both families writes IPv4 clients as `::ffff:a.b.c.d`; here they are IPv4.
    pub(super) fn inet(source: SocketAddr, destination: SocketAddr) -> Self {
        let (source, destination) = one_family(source, destination);
        Self::Inet { source, destination }
    }
}

/// Between which Unix sockets the client's connection to the proxy runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnixEndpoints {
    /// The client.
    pub source: UnixAddress,
    /// What it connected to.
    pub destination: UnixAddress,
}

/// A Unix socket's address as it stands in a version 2 header: 108 bytes, filled up with NUL.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct UnixAddress([u8; Self::BYTES]);

impl UnixAddress {
    /// The length of the kernel's `sun_path`.
    pub const BYTES: usize = 108;

    /// From a path, or from an abstract name with its leading NUL. None if it is longer than 108 bytes.
    pub fn new(path: &[u8]) -> Option<Self> {
        let mut bytes = [0; Self::BYTES];
        bytes.get_mut(..path.len())?.copy_from_slice(path);
        Some(Self(bytes))
    }

    /// The path; empty for a socket that has none.
    pub fn path(&self) -> &[u8] {
        let end = self.0.iter().position(|byte| *byte == 0).unwrap_or(Self::BYTES);
        &self.0[..end]
    }

    /// All 108 bytes, as on the wire.
    pub fn as_bytes(&self) -> &[u8; Self::BYTES] {
        &self.0
    }

    pub(super) fn from_bytes(bytes: [u8; Self::BYTES]) -> Self {
        Self(bytes)
    }
}

impl fmt::Debug for UnixAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UnixAddress({:?})", String::from_utf8_lossy(self.path()))
    }
}

impl Command {
    /// The client's Internet address, if the header tells one.
    pub fn source(&self) -> Option<SocketAddr> {
        match self {
            Self::Proxy(Endpoints::Inet { source, .. }) => Some(*source),
            _ => None,
        }
    }

    /// The Internet address that the client connected to, if the header tells one.
    pub fn destination(&self) -> Option<SocketAddr> {
        match self {
            Self::Proxy(Endpoints::Inet { destination, .. }) => Some(*destination),
            _ => None,
        }
    }
}

/// Both addresses in one family: IPv4 if both can be (an IPv4 client on a socket of both families), else IPv6.
pub(super) fn one_family(a: SocketAddr, b: SocketAddr) -> (SocketAddr, SocketAddr) {
    let (short_a, short_b) = (a.ip().to_canonical(), b.ip().to_canonical());
    let (ip_a, ip_b) = match (short_a, short_b) {
        (IpAddr::V4(_), IpAddr::V4(_)) | (IpAddr::V6(_), IpAddr::V6(_)) => (short_a, short_b),
        _ => (in_six(short_a), in_six(short_b)),
    };
    (SocketAddr::new(ip_a, a.port()), SocketAddr::new(ip_b, b.port()))
}

fn in_six(ip: IpAddr) -> IpAddr {
    match ip {
        IpAddr::V4(ip) => ip.to_ipv6_mapped().into(),
        IpAddr::V6(_) => ip,
    }
}
