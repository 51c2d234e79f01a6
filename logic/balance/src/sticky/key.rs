//! Keys of sticky tables: keyed hashes of client data.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Key of a client in a [`crate::StickyTable`]: a keyed hash.
///
/// So tables have the same size whatever clients send, and contain no session ids. An attacker without the
/// secret cannot cause collisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StickyKey(pub(super) u128);

/// Computes [`StickyKey`]s with SipHash-2-4 and 128 bits of output (Aumasson, Bernstein: "SipHash: a fast
/// short-input PRF", 2012).
#[derive(Clone, Copy)]
pub struct StickyKeys([u64; 2]);

/// Returns the address with only the bits of its prefix, so that clients with the same prefix share a server.
/// An IPv4 address mapped to IPv6 counts as IPv4.
pub fn masked_source(source: IpAddr, ipv4_prefix: u8, ipv6_prefix: u8) -> IpAddr {
    match source.to_canonical() {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(ipv4_prefix.min(32))).unwrap_or(0);
            Ipv4Addr::from_bits(address.to_bits() & mask).into()
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(ipv6_prefix.min(128))).unwrap_or(0);
            Ipv6Addr::from_bits(address.to_bits() & mask).into()
        }
    }
}

impl StickyKeys {
    /// Creates the hash. `secret` should be random and different for each process.
    pub fn new(secret: [u64; 2]) -> Self {
        Self(secret)
    }

    /// Returns the key of a text.
    pub fn of(&self, text: &[u8]) -> StickyKey {
        let mut state = State::new(self.0);
        let (words, rest) = text.as_chunks::<8>();
        for word in words {
            state.take(u64::from_le_bytes(*word));
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        last[7] = text.len() as u8;
        state.take(u64::from_le_bytes(last));
        state.2 ^= 0xee;
        let low = state.finish();
        state.1 ^= 0xdd;
        let high = state.finish();
        StickyKey(u128::from(low) | (u128::from(high) << 64))
    }
}

impl std::fmt::Debug for StickyKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("StickyKeys(..)")
    }
}

struct State(u64, u64, u64, u64);

impl State {
    fn new([k0, k1]: [u64; 2]) -> Self {
        Self(
            k0 ^ 0x736f_6d65_7073_6575,
            k1 ^ 0x646f_7261_6e64_6f6d ^ 0xee,
            k0 ^ 0x6c79_6765_6e65_7261,
            k1 ^ 0x7465_6462_7974_6573,
        )
    }

    fn take(&mut self, word: u64) {
        self.3 ^= word;
        self.round();
        self.round();
        self.0 ^= word;
    }

    fn finish(&mut self) -> u64 {
        for _ in 0..4 {
            self.round();
        }
        self.0 ^ self.1 ^ self.2 ^ self.3
    }

    fn round(&mut self) {
        let Self(a, b, c, d) = self;
        *a = a.wrapping_add(*b);
        *b = b.rotate_left(13) ^ *a;
        *a = a.rotate_left(32);
        *c = c.wrapping_add(*d);
        *d = d.rotate_left(16) ^ *c;
        *a = a.wrapping_add(*d);
        *d = d.rotate_left(21) ^ *a;
        *c = c.wrapping_add(*b);
        *b = b.rotate_left(17) ^ *c;
        *c = c.rotate_left(32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Vectors from the authors' reference implementation (vectors.h, `vectors_sip128`): key 00..0f, text
    /// 00..n.
    #[test]
    fn keys_are_those_of_siphash_with_128_bits() {
        let bytes = |hex: &str| -> Vec<u8> {
            (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
        };
        let secret = [0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908];
        let text: Vec<u8> = (0..64).collect();
        for (length, wanted) in [
            (0, "a3817f04ba25a8e66df67214c7550293"),
            (1, "da87c1d86b99af44347659119b22fc45"),
            (2, "8177228da4a45dc7fca38bdef60affe4"),
        ] {
            assert_eq!(
                StickyKeys::new(secret).of(&text[..length]).0.to_le_bytes().to_vec(),
                bytes(wanted),
                "{length}"
            );
        }
    }

    #[test]
    fn clients_of_one_network_count_as_one_where_the_prefix_says_so() {
        let masked = |text: &str, v4, v6| masked_source(text.parse().unwrap(), v4, v6).to_string();
        assert_eq!(masked("192.0.2.77", 32, 128), "192.0.2.77");
        assert_eq!(masked("192.0.2.77", 24, 128), "192.0.2.0");
        assert_eq!(masked("192.0.2.77", 0, 128), "0.0.0.0");
        assert_eq!(masked("2001:db8:1:2:3:4:5:6", 32, 64), "2001:db8:1:2::");
        assert_eq!(masked("2001:db8:1:2:3:4:5:6", 32, 0), "::");
        assert_eq!(masked("::ffff:192.0.2.77", 24, 64), "192.0.2.0");
    }
}
