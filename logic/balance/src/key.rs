//! What requests are kept together by, in the form that the algorithms of the hash family take it.

use std::io::Write;
use std::net::IpAddr;

use crate::hash::{Digest, HashFunction};

/// What one request goes by. Small, so that it is worked out once and kept while the request waits or is tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// An address, and its port where that counts; else 0.
    Address(IpAddr, u16),
    /// Any bytes.
    Digest(Digest),
}

impl Key {
    /// HAProxy's and IPVS's hash of an address, not mixed further; the digest's hash.
    pub fn hash(self) -> u32 {
        match self {
            Self::Address(address, _) => fold(address),
            Self::Digest(digest) => digest.hash,
        }
    }

    /// The port of an address; 0 = it does not count.
    pub(crate) fn port(self) -> u16 {
        match self {
            Self::Address(_, port) => port,
            Self::Digest(_) => 0,
        }
    }

    /// As NGINX hashes: the digest, or the CRC-32 of an address as it is written (`$remote_addr`).
    pub(crate) fn text_digest(self) -> Digest {
        let address = match self {
            Self::Digest(digest) => return digest,
            Self::Address(address, _) => address.to_canonical(),
        };
        // The longest IPv6 address has 39 characters; a pick allocates nothing.
        let mut text = [0; 48];
        let mut rest = &mut text[..];
        let room = rest.len();
        let written = write!(rest, "{address}").map_or(0, |()| room - rest.len());
        HashFunction::Crc32.digest(&text[..written])
    }
}

impl From<IpAddr> for Key {
    fn from(address: IpAddr) -> Self {
        Self::Address(address, 0)
    }
}

/// An address's 32-bit words in network order, XORed: HAProxy's `balance source` (get_server_sh in backend.c), and what IPVS
/// makes of IPv6 addresses before it hashes them.
///
/// An IPv4 client on a socket of both families hashes as IPv4; HAProxy would hash the mapped IPv6 address it sees
/// there. So a client keeps its server whichever kind of socket it comes in by.
fn fold(address: IpAddr) -> u32 {
    match address.to_canonical() {
        IpAddr::V4(address) => address.to_bits(),
        IpAddr::V6(address) => {
            let bits = address.to_bits();
            (bits >> 96) as u32 ^ (bits >> 64) as u32 ^ (bits >> 32) as u32 ^ bits as u32
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(text: &str) -> u32 {
        Key::from(text.parse::<IpAddr>().unwrap()).hash()
    }

    #[test]
    fn an_address_hashes_to_the_xor_of_its_words() {
        assert_eq!(hash("10.1.2.3"), 0x0a01_0203);
        assert_eq!(hash("2001:db8::7:1:2"), 0x2001_0db8 ^ 0x0000_0007 ^ 0x0001_0002);
    }

    #[test]
    fn an_ipv4_client_hashes_the_same_on_a_socket_of_both_families() {
        assert_eq!(hash("::ffff:10.1.2.3"), hash("10.1.2.3"));
    }
}
