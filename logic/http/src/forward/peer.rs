//! The peer of a client connection.

use std::io::Write;
use std::net::{IpAddr, SocketAddr};

/// The remote end of a client connection. Caches its address as text, so that requests need not format it.
#[derive(Debug, Clone, Copy)]
pub struct Peer {
    ip: Option<IpAddr>,
    port: u16,
    trusted: bool,
    text_bytes: u8,
    text: [u8; Peer::TEXT_BYTES],
}

impl Peer {
    /// Length of the longest IPv6 address as text.
    const TEXT_BYTES: usize = 39;

    pub(super) fn new(address: SocketAddr, trusted: bool) -> Self {
        let ip = address.ip().to_canonical();
        let mut text = [0; Self::TEXT_BYTES];
        let mut rest = &mut text[..];
        // Every address fits; a truncated one would still be valid text.
        let _ = write!(rest, "{ip}");
        let left = rest.len();
        Self {
            ip: Some(ip),
            port: address.port(),
            trusted,
            text_bytes: (Self::TEXT_BYTES - left) as u8,
            text,
        }
    }

    /// Returns the client that this trusted peer names, if it is not the peer itself. `address` is the result
    /// of [`super::Forwarder::client_address`]; nothing else is known about that client.
    pub fn named_client(&self, address: Option<IpAddr>) -> Option<Self> {
        let ip = address.filter(|ip| self.trusted && Some(*ip) != self.ip)?;
        Some(Self::new(SocketAddr::new(ip, 0), false))
    }

    /// Creates the peer of a Unix socket: without an address and not trusted.
    pub const fn without_address() -> Self {
        Self { ip: None, port: 0, trusted: false, text_bytes: 0, text: [0; Self::TEXT_BYTES] }
    }

    /// Returns the address; an IPv4-mapped IPv6 address is returned as IPv4.
    pub const fn ip(&self) -> Option<IpAddr> {
        self.ip
    }

    /// Returns the port; 0 = none.
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Returns the address as text; empty = none.
    pub fn ip_text(&self) -> &[u8] {
        self.text.get(..usize::from(self.text_bytes)).unwrap_or_default()
    }

    /// Returns true if Weir trusts the forwarding headers of this peer.
    pub const fn is_trusted(&self) -> bool {
        self.trusted
    }
}
