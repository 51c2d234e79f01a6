//! Rendezvous hashing (Thaler, Ravishankar: "Using name-based mappings to increase hit rates", 1998), with weights: each
//! server draws a number for the key, and the highest wins. When a server leaves, exactly its own keys move, each to its
//! second choice; a server's weight takes keys from, or gives keys to, that server alone.
//!
//! To ask every server for every key would cost O(n). Here keys are first put into buckets, a fixed number of them, and the
//! servers draw for the bucket; its winner is worked out when it is first asked for, and kept. So what is approximated is
//! this: keys of one bucket always go together, and a server's share is a whole number of buckets, off its fair part by
//! about one over the root of that number. The order of preference and what moves when servers change are exact.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use weir_model::ServerAddress;

use crate::mix::mix;

/// The draws of one set of servers.
#[derive(Debug)]
pub(crate) struct Rendezvous {
    entrants: Box<[Entrant]>,
    /// For each bucket, one more than the index of its winner; 0 = not worked out yet. Whoever works it out gets the same.
    winners: Box<[AtomicU32]>,
}

#[derive(Debug)]
struct Entrant {
    slot: usize,
    seed: u64,
    weight: f64,
}

/// A constant: were it to depend on the number of servers, a server more could move all keys.
const BUCKET_BITS: u32 = 17;

impl Rendezvous {
    /// From slots, weights above 0 and addresses, in the pool's order. Servers draw by their addresses; of several with one
    /// address each has its own draws.
    pub(crate) fn new<'a>(servers: impl Iterator<Item = (usize, u32, &'a ServerAddress)>) -> Self {
        let mut seen = std::collections::BTreeMap::new();
        let entrants = servers.map(|(slot, weight, address)| {
            let text = address.to_string();
            let seed = text_hash(text.as_bytes());
            let nth = seen.entry(text).and_modify(|count| *count += 1).or_insert(0_u64);
            Entrant { slot, seed: mix(seed.wrapping_add(*nth)), weight: f64::from(weight) }
        });
        let entrants: Box<[Entrant]> = entrants.collect();
        let winners = (0..1_usize << BUCKET_BITS).map(|_| AtomicU32::new(0)).collect();
        Self { entrants, winners }
    }

    /// The open server that the key's bucket prefers. O(1) once its first choice is known, if that one is open; else O(n).
    pub(crate) fn pick(&self, hash: u32, is_open: impl Fn(usize) -> bool) -> Option<usize> {
        let bucket = mix(u64::from(hash)) >> (u64::BITS - BUCKET_BITS);
        let first = self.winner(bucket)?;
        if is_open(first.slot) {
            return Some(first.slot);
        }
        let open = self.entrants.iter().filter(|entrant| is_open(entrant.slot));
        best(open, bucket).map(|entrant| entrant.slot)
    }

    fn winner(&self, bucket: u64) -> Option<&Entrant> {
        let known = &self.winners[bucket as usize];
        let index = match known.load(Relaxed) {
            0 => {
                let best = best(self.entrants.iter(), bucket)?;
                let index = self.entrants.iter().position(|entrant| entrant.slot == best.slot)?;
                known.store(index as u32 + 1, Relaxed);
                index
            }
            found => found as usize - 1,
        };
        self.entrants.get(index)
    }
}

fn best<'a>(entrants: impl Iterator<Item = &'a Entrant>, bucket: u64) -> Option<&'a Entrant> {
    let drawn = entrants.map(|entrant| (entrant.draw(bucket), entrant));
    drawn.min_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, entrant)| entrant)
}

impl Entrant {
    /// How long this server lets the bucket wait: exponentially distributed with its weight as the rate, so that it is the
    /// first in proportion to its weight.
    fn draw(&self, bucket: u64) -> f64 {
        const MANTISSA_BITS: u32 = 53;
        let bits = mix(self.seed ^ mix(bucket.wrapping_add(1))) >> (u64::BITS - MANTISSA_BITS);
        let between_0_and_1 = (bits as f64 + 0.5) / (1_u64 << MANTISSA_BITS) as f64;
        -between_0_and_1.ln() / self.weight
    }
}

/// FNV-1a, of 64 bits: addresses that differ must have different seeds.
fn text_hash(text: &[u8]) -> u64 {
    text.iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
