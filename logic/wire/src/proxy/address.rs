//! The addresses in a PROXY header.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use super::Command;

/// The two ends of the client's connection to the proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoints {
    /// Internet addresses. Parsed addresses are both of one family: IPv4 if both can be written so, else
    /// IPv6.
    Inet {
        /// Address of the client.
        source: SocketAddr,
        /// Address that the client connected to.
        destination: SocketAddr,
    },
    /// Unix sockets (version 2 only). Boxed, because they are rare and ten times as large as Internet
    /// addresses.
    Unix(Box<UnixEndpoints>),
    /// The sender does not know (`UNKNOWN`, `UNSPEC`). The receiver uses the addresses of the connection
    /// itself.
    Unknown,
}

impl Endpoints {
    /// Creates Internet endpoints and converts `::ffff:a.b.c.d` to IPv4. Senders with a dual-stack socket
    /// write IPv4 clients in that form.
    pub(super) fn inet(source: SocketAddr, destination: SocketAddr) -> Self {
        let (source, destination) = one_family(source, destination);
        Self::Inet { source, destination }
    }
}

/// The two Unix sockets of the client's connection to the proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnixEndpoints {
    /// Address of the client.
    pub source: UnixAddress,
    /// Address that the client connected to.
    pub destination: UnixAddress,
}

/// The address of a Unix socket in a version 2 header: 108 bytes, padded with NUL.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct UnixAddress([u8; Self::BYTES]);

impl UnixAddress {
    /// Size of the kernel's `sun_path`, in bytes.
    pub const BYTES: usize = 108;

    /// Creates an address from a path, or from an abstract name with its leading NUL. Returns `None` if it is
    /// longer than 108 bytes.
    pub fn new(path: &[u8]) -> Option<Self> {
        let mut bytes = [0; Self::BYTES];
        bytes.get_mut(..path.len())?.copy_from_slice(path);
        Some(Self(bytes))
    }

    /// Returns the path; empty for a socket without one.
    pub fn path(&self) -> &[u8] {
        let end = self.0.iter().position(|byte| *byte == 0).unwrap_or(Self::BYTES);
        &self.0[..end]
    }

    /// Returns all 108 bytes, as on the wire.
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
    /// Returns the client's Internet address, if the header contains one.
    pub fn source(&self) -> Option<SocketAddr> {
        match self {
            Self::Proxy(Endpoints::Inet { source, .. }) => Some(*source),
            _ => None,
        }
    }

    /// Returns the Internet address that the client connected to, if the header contains one.
    pub fn destination(&self) -> Option<SocketAddr> {
        match self {
            Self::Proxy(Endpoints::Inet { destination, .. }) => Some(*destination),
            _ => None,
        }
    }
}

/// Converts both addresses to one family: IPv4 if both can be (an IPv4 client on a dual-stack socket), else
/// IPv6.
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
