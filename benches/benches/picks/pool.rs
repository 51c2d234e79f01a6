//! Servers for the benchmark of picks.

use std::net::Ipv4Addr;
use std::sync::Arc;

use weir_balance::{Candidate, Portion, ServerLoad};
use weir_model::{ServerAddress, Weight};

pub(crate) const SERVERS: [usize; 3] = [3, 100, 10_000];

/// Returns servers of three different weights, all up.
pub(crate) fn candidates(servers: usize) -> Vec<Candidate> {
    let weight = |slot: usize| Weight::new([1, 2, 5][slot % 3]).unwrap_or_default();
    let candidate = |slot: usize| Candidate {
        slot,
        rank: slot as u32,
        address: ServerAddress::Inet((Ipv4Addr::from_bits(0x0a00_0001 + slot as u32), 80).into()),
        weight: weight(slot),
        name_key: 0,
        portion: Portion::WHOLE,
        priority: 0,
        backup: false,
        is_local: true,
        eligible: true,
        half_open: false,
        keeps_clients: true,
        connections_max: None,
        load: Arc::new(ServerLoad::default()),
    };
    (0..servers).map(candidate).collect()
}

/// Mixes a number well enough for a benchmark, at little cost.
pub(crate) fn spread(number: u64) -> u64 {
    let z = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (z ^ (z >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93)
}
