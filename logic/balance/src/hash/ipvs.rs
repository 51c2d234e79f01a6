//! IPVS's hashes (ip_vs_sh.c, ip_vs_dh.c, ip_vs_mh.c): a table of servers, and an address hash that is an
//! index into it.
//!
//! A server that is down is not in the table, as if a health checker had removed it. A server that is full,
//! or has just failed the request, is unavailable, as with the kernel's overload flag. A key other than an
//! address counts by its hash.

use weir_model::ServerAddress;

use super::crc32::crc32;
use super::siphash::hsiphash;
use crate::Key;
use crate::gcd::gcd_of;

/// The slot of each table entry, and the rule that turns keys into indices.
#[derive(Debug)]
pub(crate) struct IpvsTable {
    kind: IpvsKind,
    places: Box<[u32]>,
}

/// The kernel scheduler that a table imitates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IpvsKind {
    /// sh.
    Source,
    /// dh.
    Destination,
    /// mh.
    Maglev,
}

/// Size of the sh and dh tables, in bits: CONFIG_IP_VS_SH_TAB_BITS and CONFIG_IP_VS_DH_TAB_BITS.
const TABLE_BITS: u32 = 8;
/// Size of the mh table, and the number of bits of a weight that count, for CONFIG_IP_VS_MH_TAB_INDEX = 12.
const MAGLEV_PLACES: usize = 4_093;
const MAGLEV_WEIGHT_BITS: u32 = 6;
/// Both halves of the SipHash key for a server's offset and for clients. `SKIP_KEY` is the same for a
/// server's skip.
const OFFSET_KEY: u64 = 2_654_435_761;
const SKIP_KEY: u64 = 2_654_446_892;
/// Entries tried for another server before the pick gives up (the kernel tries all).
const TRIES_MAX: u32 = 256;
const FREE: u32 = u32::MAX;

impl IpvsTable {
    /// Creates the table from slots, weights above 0 and addresses, in the pool's order.
    pub(crate) fn new(kind: IpvsKind, servers: &[(usize, u32, &ServerAddress)]) -> Self {
        let places = match kind {
            _ if servers.is_empty() => Box::default(),
            IpvsKind::Source => in_order(servers.iter().map(|(slot, weight, _)| (*slot, *weight as usize))),
            IpvsKind::Destination => in_order(servers.iter().map(|(slot, _, _)| (*slot, 1))),
            IpvsKind::Maglev => by_preference(servers),
        };
        Self { kind, places }
    }

    /// Returns the server at the key's entry, or with `fallback` another one. `None` = none of the servers
    /// tried is open.
    pub(crate) fn pick(&self, key: Key, fallback: bool, is_open: impl Fn(usize) -> bool) -> Option<usize> {
        let first = self.place(key, 0)?;
        let slot = |place: usize| self.places[place] as usize;
        if is_open(slot(first)) {
            return Some(slot(first));
        }
        let tries = if fallback { TRIES_MAX } else { 0 };
        let size = self.places.len() as u32;
        let offset = |try_number: u32| (try_number + first as u32) % size;
        (0..tries).filter_map(|number| self.place(key, offset(number))).map(slot).find(|slot| is_open(*slot))
    }

    fn place(&self, key: Key, offset: u32) -> Option<usize> {
        let value = key.hash().wrapping_add(u32::from(key.port()));
        let hash = match self.kind {
            IpvsKind::Source | IpvsKind::Destination => offset.wrapping_add(hash_32(value)),
            IpvsKind::Maglev => hsiphash(offset.wrapping_add(value), OFFSET_KEY),
        };
        (hash as usize).checked_rem(self.places.len())
    }
}

/// Computes the kernel's hash_32 to 8 bits: the highest bits of the product with the golden ratio.
fn hash_32(value: u32) -> u32 {
    value.wrapping_mul(0x61c8_8647) >> (u32::BITS - TABLE_BITS)
}

/// Fills the table with each server as often in a row as its weight says, repeatedly until it is full.
fn in_order(servers: impl Iterator<Item = (usize, usize)> + Clone) -> Box<[u32]> {
    let turns = servers.cycle().flat_map(|(slot, times)| std::iter::repeat_n(slot as u32, times));
    turns.take(1 << TABLE_BITS).collect()
}

/// Fills the table as Maglev does: in turn, each server takes as many of its preferred free entries as its
/// weight says.
fn by_preference(servers: &[(usize, u32, &ServerAddress)]) -> Box<[u32]> {
    let size = MAGLEV_PLACES as u32;
    let divisor = gcd_of(servers.iter().map(|(_, weight, _)| *weight));
    let heaviest = servers.iter().map(|(_, weight, _)| weight / divisor).max().unwrap_or(0);
    let shift = (u32::BITS - heaviest.leading_zeros()).saturating_sub(MAGLEV_WEIGHT_BITS);
    let mut next: Vec<(u32, u32)> = Vec::with_capacity(servers.len());
    for (_, _, address) in servers {
        let value = value_of(address);
        next.push((hsiphash(value, OFFSET_KEY) % size, hsiphash(value, SKIP_KEY) % (size - 1) + 1));
    }
    let mut table = vec![FREE; MAGLEV_PLACES];
    let mut taken = 0;
    loop {
        for ((slot, weight, _), (place, skip)) in servers.iter().zip(&mut next) {
            for _ in 0..((weight / divisor) >> shift).max(1) {
                // There is a free entry, and because the size is prime, the skip reaches it.
                while table[*place as usize] != FREE {
                    *place = (*place + *skip) % size;
                }
                table[*place as usize] = *slot as u32;
                taken += 1;
                if taken == MAGLEV_PLACES {
                    return table.into();
                }
            }
        }
    }
}

/// Returns the sum of port and folded address. For a name or a path, which the kernel does not have, the CRC
/// replaces the address.
fn value_of(address: &ServerAddress) -> u32 {
    let (hash, port) = match address {
        ServerAddress::Inet(address) => (Key::from(address.ip()).hash(), address.port()),
        ServerAddress::Named(host) => (crc32(&[host.host.as_bytes()]), host.port),
        ServerAddress::Unix(_) => (crc32(&[address.to_string().as_bytes()]), 0),
    };
    hash.wrapping_add(u32::from(port))
}
