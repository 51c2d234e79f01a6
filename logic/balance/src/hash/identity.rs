//! Numbers that stand for servers when hash points, preferences or draws are computed.
//!
//! They come from a server's address as written in the config. So balancers with the same config choose
//! alike, whatever their history, and adding or removing a server does not move the other servers' keys.
//!
//! Several servers may have the same address, or the same host where only that counts. The second and later
//! ones, in the pool's order, get numbers of their own.

use std::collections::HashMap;
use std::net::IpAddr;

use weir_model::ServerAddress;

use super::avalanche::avalanche;
use super::crc32::crc32;
use super::xxh32::xxh32;
use crate::mix::mix;

/// A server's slot, share and address; lists of these are in the pool's order.
pub(crate) type Addressed<'a> = (usize, u32, &'a ServerAddress);

/// Returns a 64-bit seed for each server.
pub(crate) fn seeds(servers: &[Addressed<'_>]) -> Vec<u64> {
    let seed = |(address, nth): (&ServerAddress, u32)| {
        mix(text_hash(address.to_string().as_bytes()).wrapping_add(nth.into()))
    };
    numbered(servers).map(seed).collect()
}

/// Returns for each server the key that HAProxy's `hash-key addr-port` gives it (chash_compute_server_key,
/// lb_chash.c).
///
/// For names and Unix sockets HAProxy falls back to server ids; here they count by the CRC-32 of their text.
pub(crate) fn ring_keys(servers: &[Addressed<'_>]) -> Vec<u32> {
    let key = |(address, nth): (&ServerAddress, u32)| match nth {
        0 => ring_key(address),
        // HAProxy gives servers with the same address the same points.
        nth => avalanche(ring_key(address).wrapping_add(nth)),
    };
    numbered(servers).map(key).collect()
}

/// Returns for each server the key that HAProxy's `hash-key addr` gives it, which ignores the port; otherwise
/// like [`ring_keys`].
pub(crate) fn host_keys(servers: &[Addressed<'_>]) -> Vec<u32> {
    apart(servers.iter().map(|(_, _, address)| host_key(address)))
}

/// Returns the keys, with the second and later ones of equal keys replaced. HAProxy gives those servers the
/// same points.
pub(crate) fn apart(keys: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut seen: HashMap<u32, u32> = HashMap::new();
    let own = |key: u32| {
        let nth = seen.entry(key).or_insert(0);
        let own = if *nth == 0 { key } else { avalanche(key.wrapping_add(*nth)) };
        *nth += 1;
        own
    };
    keys.map(own).collect()
}

/// Returns the key that HAProxy's `hash-key guid` gives a server; the server's name stands for the guid.
pub(crate) fn name_key(name: &str) -> u32 {
    xxh32(name.as_bytes(), 0)
}

fn ring_key(address: &ServerAddress) -> u32 {
    match address {
        ServerAddress::Inet(address) => ip_key(address.ip(), avalanche(address.port().into())),
        other => avalanche(crc32(&[other.to_string().as_bytes()])),
    }
}

fn host_key(address: &ServerAddress) -> u32 {
    match address {
        ServerAddress::Inet(address) => ip_key(address.ip(), 0),
        ServerAddress::Named(name) => avalanche(crc32(&[name.host.as_bytes()])),
        path @ ServerAddress::Unix(_) => ring_key(path),
    }
}

/// Returns the key of an IP address. `port` is the number that stands for the port.
fn ip_key(ip: IpAddr, port: u32) -> u32 {
    match ip {
        // In memory the address is in network byte order; HAProxy on a little-endian machine reads it as a
        // number.
        IpAddr::V4(ip) => avalanche(port.wrapping_add(u32::from_le_bytes(ip.octets()))),
        IpAddr::V6(ip) => xxh32(&ip.octets(), port),
    }
}

/// Returns each server's address and the number of earlier servers with the same address.
fn numbered<'a>(servers: &[Addressed<'a>]) -> impl Iterator<Item = (&'a ServerAddress, u32)> {
    let mut seen: HashMap<&ServerAddress, u32> = HashMap::with_capacity(servers.len());
    let nth = |(_, _, address): &Addressed<'a>| {
        let count = seen.entry(*address).or_insert(0);
        *count += 1;
        (*address, *count - 1)
    };
    servers.iter().map(nth).collect::<Vec<_>>().into_iter()
}

/// Returns the 64-bit FNV-1a hash of a text, so that different addresses have different seeds.
fn text_hash(text: &[u8]) -> u64 {
    text.iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_with_one_address_have_numbers_of_their_own() {
        let one: ServerAddress = "10.0.0.1:80".parse().unwrap();
        let other: ServerAddress = "10.0.0.2:80".parse().unwrap();
        let keys = ring_keys(&[(0, 1, &one), (1, 1, &one), (2, 1, &other), (3, 1, &one)]);
        let alone = ring_keys(&[(7, 9, &other)]);
        assert_eq!(keys[2], alone[0]);
        let mut different = keys.clone();
        different.sort_unstable();
        different.dedup();
        assert_eq!(different.len(), 4, "{keys:?}");
        assert_eq!(seeds(&[(0, 1, &one), (1, 1, &one)])[0], seeds(&[(5, 2, &one)])[0]);
    }

    /// Expected values computed independently of this code, with full_hash as in HAProxy's tools.h.
    #[test]
    fn an_address_counts_as_with_haproxys_hash_key() {
        let key = |text: &str| ring_key(&text.parse().unwrap());
        assert_eq!(key("10.0.0.1:80"), 0x3428_27f1);
        assert_eq!(key("[2001:db8::1]:8080"), 0x5804_4004);
        let key = |text: &str| host_key(&text.parse().unwrap());
        assert_eq!(key("10.0.0.1:80"), 0x6dcd_ab3e);
        assert_eq!(key("[2001:db8::1]:8080"), 0x0a4d_51c7);
        assert_eq!(key("web.example:80"), 0xbcb1_f348);
        assert_eq!(name_key("cache-0"), 0x70a8_b700);
    }

    #[test]
    fn servers_at_one_host_have_numbers_of_their_own_where_ports_do_not_count() {
        let at = |text: &str| -> ServerAddress { text.parse().unwrap() };
        let [one, same, other] = [at("10.0.0.1:80"), at("10.0.0.1:81"), at("10.0.0.2:80")];
        let keys = host_keys(&[(0, 1, &one), (1, 1, &same), (2, 1, &other)]);
        assert_eq!((keys[0], keys[2]), (host_key(&one), host_key(&other)));
        assert_eq!(host_key(&one), host_key(&same));
        assert!(keys[1] != keys[0] && keys[1] != keys[2], "{keys:?}");
    }
}
