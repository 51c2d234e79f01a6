//! NGINX's ip_hash (ngx_http_upstream_ip_hash_module.c).
//!
//! Servers that are down stay in the list, and clients that hash to one are hashed again. After 21 failed
//! tries the servers take turns. As in NGINX, a client without an address counts as 0.0.0.

use std::net::IpAddr;

use super::by_weight::ByWeight;
use crate::Key;

/// Number of tries before the servers take turns.
pub(crate) const TRIES_MAX: usize = 21;

/// Returns the server for a key, which is the client's address; `None` = none found within the permitted
/// tries is open.
pub(crate) fn pick(servers: &ByWeight, key: Option<Key>, is_open: impl Fn(usize) -> bool) -> Option<usize> {
    let mut octets = [0; 16];
    let count = match key {
        Some(Key::Address(address, _)) => octets_of(address, &mut octets),
        _ => IPV4_OCTETS,
    };
    let mut hash = 89_u64;
    (0..TRIES_MAX).find_map(|_| {
        hash = octets[..count].iter().fold(hash, |hash, octet| (hash * 113 + u64::from(*octet)) % 6_271);
        servers.at(hash).filter(|slot| is_open(*slot))
    })
}

/// Number of octets of an IPv4 address that count: the network without the last octet.
const IPV4_OCTETS: usize = 3;

fn octets_of(address: IpAddr, octets: &mut [u8; 16]) -> usize {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            octets[..4].copy_from_slice(&address.octets());
            IPV4_OCTETS
        }
        IpAddr::V6(address) => {
            *octets = address.octets();
            octets.len()
        }
    }
}
