//! IPVS's hashes (ip_vs_sh.c, ip_vs_dh.c, ip_vs_mh.c): a table of servers, and a hash of an address that is a place in it.
//!
//! A server that is down is not in the table, as when a health checker removes it there. One that is full, or that has just
//! failed the request, is unavailable as with the kernel's overload flag. Keys that are not addresses stand for one by their
//! hash.

use weir_model::ServerAddress;

use super::crc32::crc32;
use super::siphash::hsiphash;
use crate::Key;
use crate::gcd::gcd_of;

/// Which slot each place belongs to, and how keys become places.
#[derive(Debug)]
pub(crate) struct IpvsTable {
    kind: IpvsKind,
    places: Box<[u32]>,
}

/// Which of the schedulers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IpvsKind {
    /// sh.
    Source,
    /// dh.
    Destination,
    /// mh.
    Maglev,
}

/// CONFIG_IP_VS_SH_TAB_BITS and CONFIG_IP_VS_DH_TAB_BITS.
const TABLE_BITS: u32 = 8;
/// CONFIG_IP_VS_MH_TAB_INDEX = 12: the table's size, and how many bits of a weight count.
const MAGLEV_PLACES: usize = 4_093;
const MAGLEV_WEIGHT_BITS: u32 = 6;
/// Both halves of the keys for a server's offset, which is that for clients, too, and for its skip.
const OFFSET_KEY: u64 = 2_654_435_761;
const SKIP_KEY: u64 = 2_654_446_892;
/// Places tried for another server before that is left to others (the kernel: all of them).
const TRIES_MAX: u32 = 256;
const FREE: u32 = u32::MAX;

impl IpvsTable {
    /// From slots, weights above 0 and addresses, in the pool's order.
    pub(crate) fn new(kind: IpvsKind, servers: &[(usize, u32, &ServerAddress)]) -> Self {
        let places = match kind {
            _ if servers.is_empty() => Box::default(),
            IpvsKind::Source => in_order(servers.iter().map(|(slot, weight, _)| (*slot, *weight as usize))),
            IpvsKind::Destination => in_order(servers.iter().map(|(slot, _, _)| (*slot, 1))),
            IpvsKind::Maglev => by_preference(servers),
        };
        Self { kind, places }
    }

    /// The server at the key's place, or without that with `fallback` another. None if that one is, or those tried are, not
    /// open.
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

/// The kernel's hash_32 to 8 bits: the product with the golden ratio, its highest bits.
fn hash_32(value: u32) -> u32 {
    value.wrapping_mul(0x61c8_8647) >> (u32::BITS - TABLE_BITS)
}

/// Each server as often in a row as it weighs, round and round until the table is full.
fn in_order(servers: impl Iterator<Item = (usize, usize)> + Clone) -> Box<[u32]> {
    let turns = servers.cycle().flat_map(|(slot, times)| std::iter::repeat_n(slot as u32, times));
    turns.take(1 << TABLE_BITS).collect()
}

/// Maglev's way: in turn, each server takes as many of the places it likes best as its weight says.
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
                // There is a free place, and the skip leads to it: the size is prime.
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

/// Port and folded address; of a name or path, which the kernel does not have, its CRC stands for the address.
fn value_of(address: &ServerAddress) -> u32 {
    let (hash, port) = match address {
        ServerAddress::Inet(address) => (Key::from(address.ip()).hash(), address.port()),
        ServerAddress::Named(host) => (crc32(&[host.host.as_bytes()]), host.port),
        ServerAddress::Unix(_) => (crc32(&[address.to_string().as_bytes()]), 0),
    };
    hash.wrapping_add(u32::from(port))
}
