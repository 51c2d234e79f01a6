//! Addresses of simulated clients.

use std::net::{IpAddr, Ipv4Addr};

use crate::rng::{hash, mix};

/// Returns the address of a client with a number or a hash. Addresses are spread over the whole space, as
/// real ones are.
pub(crate) fn client_address(client: u64) -> IpAddr {
    IpAddr::V4(Ipv4Addr::from_bits((mix(client.wrapping_add(1)) >> 32) as u32))
}

/// Returns a number that identifies the client.
pub(crate) fn client_key(client: IpAddr) -> u64 {
    match client {
        IpAddr::V4(address) => u64::from(address.to_bits()),
        IpAddr::V6(address) => hash(&address.octets()),
    }
}
