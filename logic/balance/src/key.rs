//! Keys by which the hash algorithms keep requests together.

use std::io::Write;
use std::net::IpAddr;

use crate::hash::{Digest, HashFunction};

/// Key of one request. It is small: it is computed once and kept while the request waits or is retried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    /// An address, and its port where the port counts, else 0.
    Address(IpAddr, u16),
    /// Digest of any bytes.
    Digest(Digest),
}

impl Key {
    /// Returns the digest's hash, or the hash of an address as HAProxy and IPVS compute it, without further
    /// mixing.
    pub fn hash(self) -> u32 {
        match self {
            Self::Address(address, _) => fold(address),
            Self::Digest(digest) => digest.hash,
        }
    }

    /// Returns the port of an address; 0 = the port does not count.
    pub(crate) fn port(self) -> u16 {
        match self {
            Self::Address(_, port) => port,
            Self::Digest(_) => 0,
        }
    }

    /// Returns the digest as NGINX computes it: for an address, the CRC-32 of its text (`$remote_addr`).
    pub(crate) fn text_digest(self) -> Digest {
        let address = match self {
            Self::Digest(digest) => return digest,
            Self::Address(address, _) => address.to_canonical(),
        };
        // The longest IPv6 address has 39 characters. The buffer is on the stack because a pick must not
        // allocate.
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

/// XORs an address's 32-bit words in network order: HAProxy's `balance source` (get_server_sh in backend.c).
/// IPVS does the same with IPv6 addresses before it hashes them.
///
/// An IPv4 client on a dual-stack socket hashes as IPv4; HAProxy would hash the mapped IPv6 address that it
/// sees there. So a client keeps its server whichever kind of socket accepts it.
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
