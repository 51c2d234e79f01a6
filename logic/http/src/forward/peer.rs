use std::io::Write;
use std::net::{IpAddr, SocketAddr};

/// The client end of a connection, with its address as text, so that no request has to print it again.
#[derive(Debug, Clone, Copy)]
pub struct Peer {
    ip: Option<IpAddr>,
    port: u16,
    trusted: bool,
    text_bytes: u8,
    text: [u8; Peer::TEXT_BYTES],
}

impl Peer {
    /// The longest IPv6 address that [`IpAddr`] prints.
    const TEXT_BYTES: usize = 39;

    pub(super) fn new(address: SocketAddr, trusted: bool) -> Self {
        let ip = address.ip().to_canonical();
        let mut text = [0; Self::TEXT_BYTES];
        let mut rest = &mut text[..];
        // Every address fits; a shortened one would still be harmless text.
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

    /// The client, if it is not the peer: whom this trusted peer names, by the address that
    /// [`super::Forwarder::client_address`] has found. That is all that is known of it.
    pub fn named_client(&self, address: Option<IpAddr>) -> Option<Self> {
        let ip = address.filter(|ip| self.trusted && Some(*ip) != self.ip)?;
        Some(Self::new(SocketAddr::new(ip, 0), false))
    }

    /// The client of a Unix socket: no address, not trusted.
    pub const fn without_address() -> Self {
        Self { ip: None, port: 0, trusted: false, text_bytes: 0, text: [0; Self::TEXT_BYTES] }
    }

    /// The address; IPv4 as such even if it came mapped into IPv6.
    pub const fn ip(&self) -> Option<IpAddr> {
        self.ip
    }

    /// The port; 0 = none.
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// The address as text; empty = none.
    pub fn ip_text(&self) -> &[u8] {
        self.text.get(..usize::from(self.text_bytes)).unwrap_or_default()
    }

    /// Whether its forwarding headers are believed.
    pub const fn is_trusted(&self) -> bool {
        self.trusted
    }
}
