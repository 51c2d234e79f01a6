//! Rendezvous hashing (Thaler, Ravishankar: "Using name-based mappings to increase hit rates", 1998), with weights: each
//! server draws a number for the key, and the highest wins. When a server leaves, exactly its own keys move, each to its
//! second choice; a server's weight takes keys from, or gives keys to, that server alone.
//!
//! To ask every server for every key would cost O(n). Here keys are first put into buckets, a fixed number of them, and the
//! servers draw for the bucket; its winner is worked out when it is first asked for, and kept, also when servers come and go: a
//! server that leaves gives up its own buckets, and one that comes is compared with the winners that there are. So what is
//! approximated is this: keys of one bucket always go together, and a server's share is a whole number of buckets, off its fair
//! part by about one over the root of that number. What moves when servers change is exact.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::identity::{Addressed, seeds};
use crate::mix::mix;

/// The draws of one set of servers.
#[derive(Debug)]
pub(crate) struct Rendezvous {
    entrants: Box<[Entrant]>,
    /// For each bucket, one more than the index of its winner; 0 = not worked out yet. Whoever works it out gets the same.
    winners: Box<[AtomicU32]>,
    /// All weights are the same: then numbers need not be turned into waiting times to be compared.
    is_even: bool,
}

#[derive(Debug)]
struct Entrant {
    slot: usize,
    seed: u64,
    weight: u32,
}

/// A constant: were it to depend on the number of servers, a server more could move all keys.
const BUCKET_BITS: u32 = 17;

/// With more servers that are new the winners are worked out anew, as they are asked for: whoever publishes a change must not take
/// long to compare each with every winner.
const NEWCOMERS_MAX: usize = 16;

/// Up to so many servers all are asked for the next choice where the first one has no room; of more, the winners of other buckets.
const ASK_ALL_MAX: usize = 256;

/// How many other buckets.
const DETOURS: u64 = 16;

impl Rendezvous {
    /// From servers with what counts of their weights, in thousandths and above 0, in the pool's order. They draw by their addresses; of several with one address each has its
    /// own draws. Of `known`, what was drawn before, nothing is drawn again.
    pub(crate) fn new(servers: &[Addressed<'_>], known: Option<&Self>) -> Self {
        let entrant =
            |((slot, weight, _), seed): (&Addressed<'_>, u64)| Entrant { slot: *slot, seed, weight: *weight };
        let entrants = servers.iter().zip(seeds(servers)).map(entrant);
        let entrants: Box<[Entrant]> = entrants.collect();
        let winners = known.and_then(|known| known.winners_among(&entrants));
        let unknown = || (0..1_usize << BUCKET_BITS).map(|_| AtomicU32::new(0)).collect();
        let is_even = entrants.windows(2).all(|two| two[0].weight == two[1].weight);
        Self { entrants, winners: winners.unwrap_or_else(unknown), is_even }
    }

    /// The open server that the key's bucket prefers. O(1) once its first choice is known; O(n) the first time, and where no server
    /// that is asked has room.
    pub(crate) fn pick(&self, hash: u32, is_open: impl Fn(usize) -> bool) -> Option<usize> {
        let bucket = bucket_of(u64::from(hash));
        let first = self.winner(bucket)?;
        if is_open(first.slot) {
            return Some(first.slot);
        }
        if self.entrants.len() > ASK_ALL_MAX {
            let others = (1..=DETOURS).filter_map(|nth| self.winner(bucket_of(mix(bucket) ^ nth)));
            if let Some(other) = others.into_iter().find(|other| is_open(other.slot)) {
                return Some(other.slot);
            }
        }
        let open = self.entrants.iter().filter(|entrant| is_open(entrant.slot));
        self.best(open, bucket).map(|entrant| entrant.slot)
    }

    fn winner(&self, bucket: u64) -> Option<&Entrant> {
        let known = &self.winners[bucket as usize];
        let index = match known.load(Relaxed) {
            0 => {
                let best = self.best(self.entrants.iter(), bucket)?;
                let index = self.entrants.iter().position(|entrant| entrant.slot == best.slot)?;
                known.store(index as u32 + 1, Relaxed);
                index
            }
            found => found as usize - 1,
        };
        self.entrants.get(index)
    }

    fn best<'a>(&self, entrants: impl Iterator<Item = &'a Entrant>, bucket: u64) -> Option<&'a Entrant> {
        if self.is_even {
            return entrants.min_by_key(|entrant| Reverse(entrant.number(bucket)));
        }
        let drawn = entrants.map(|entrant| (entrant.wait(bucket), entrant));
        drawn.min_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, entrant)| entrant)
    }

    /// The winners that are known here, among other servers; `None` if too many of those are new.
    fn winners_among(&self, entrants: &[Entrant]) -> Option<Box<[AtomicU32]>> {
        let mut index_of: HashMap<(u64, u32), usize> =
            entrants.iter().enumerate().map(|(index, entrant)| (entrant.identity(), index)).collect();
        let stays: Vec<Option<usize>> =
            self.entrants.iter().map(|entrant| index_of.remove(&entrant.identity())).collect();
        // Those that are left are new.
        let newcomers: Vec<usize> = index_of.into_values().collect();
        if newcomers.len() > NEWCOMERS_MAX {
            return None;
        }
        let still = |(bucket, winner): (usize, &AtomicU32)| {
            let winner = winner.load(Relaxed).checked_sub(1)?;
            let stays = (*stays.get(winner as usize)?)?;
            if newcomers.is_empty() {
                return Some(stays as u32 + 1);
            }
            let draw = |index: &usize| (entrants[*index].wait(bucket as u64), *index);
            let challengers = newcomers.iter().map(draw);
            let all = std::iter::once(draw(&stays)).chain(challengers);
            all.min_by(|(a, i), (b, j)| a.total_cmp(b).then(i.cmp(j))).map(|(_, index)| index as u32 + 1)
        };
        let winners = self.winners.iter().enumerate();
        Some(winners.map(|at| AtomicU32::new(still(at).unwrap_or(0))).collect())
    }
}

fn bucket_of(key: u64) -> u64 {
    mix(key) >> (u64::BITS - BUCKET_BITS)
}

const MANTISSA_BITS: u32 = 53;

impl Entrant {
    /// Two with the same identity draw the same for every bucket.
    fn identity(&self) -> (u64, u32) {
        (self.seed, self.weight)
    }

    /// What this server draws for the bucket: below 2^53.
    fn number(&self, bucket: u64) -> u64 {
        mix(self.seed ^ mix(bucket.wrapping_add(1))) >> (u64::BITS - MANTISSA_BITS)
    }

    /// How long it lets the bucket wait: exponentially distributed with its weight as the rate, so that it is the first in
    /// proportion to its weight.
    fn wait(&self, bucket: u64) -> f64 {
        let between_0_and_1 = (self.number(bucket) as f64 + 0.5) / (1_u64 << MANTISSA_BITS) as f64;
        -between_0_and_1.ln() / f64::from(self.weight)
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use weir_model::ServerAddress;

    use super::*;

    fn address(number: u32) -> ServerAddress {
        ServerAddress::Inet((Ipv4Addr::from_bits(0x0a00_0000 + number), 80).into())
    }

    /// From numbers and weights; the number is the slot, too.
    fn draws(servers: &[(u32, u32)], known: Option<&Rendezvous>) -> Rendezvous {
        let addresses: Vec<_> = servers.iter().map(|(number, _)| address(*number)).collect();
        let servers = servers.iter().zip(&addresses);
        let servers: Vec<_> =
            servers.map(|((number, weight), address)| (*number as usize, *weight, address)).collect();
        Rendezvous::new(&servers, known)
    }

    fn choices(draws: &Rendezvous) -> Vec<Option<usize>> {
        (0..20_000).map(|key| draws.pick(key, |_| true)).collect()
    }

    #[test]
    fn what_is_taken_over_is_what_would_be_drawn_anew() {
        let sets: [&[(u32, u32)]; 6] = [
            &[(1, 1), (2, 1), (3, 1), (4, 1)],
            &[(4, 1), (2, 1), (1, 1)],
            &[(1, 1), (2, 1), (4, 1), (5, 3), (6, 1)],
            &[(5, 2), (1, 1), (2, 7)],
            &[],
            &[(1, 1), (2, 1)],
        ];
        let mut known: Option<Rendezvous> = None;
        for set in sets {
            let carried = draws(set, known.as_ref());
            let asked_before = carried.winners.iter().filter(|winner| winner.load(Relaxed) > 0).count();
            assert_eq!(choices(&carried), choices(&draws(set, None)), "{set:?}");
            let stays = known.as_ref().is_some_and(|known| !known.entrants.is_empty()) && !set.is_empty();
            assert_eq!(asked_before > 0, stays, "{set:?}");
            known = Some(carried);
        }
    }

    #[test]
    fn a_key_whose_server_has_no_room_goes_to_one_that_has_whatever_their_number() {
        for count in [2, ASK_ALL_MAX as u32 + 1, 2_000] {
            let servers: Vec<_> = (0..count).map(|number| (number, 1)).collect();
            let draws = draws(&servers, None);
            for key in 0..50 {
                let first = draws.pick(key, |_| true).unwrap();
                let second = draws.pick(key, |slot| slot != first).unwrap();
                assert_ne!(first, second);
                assert_eq!(draws.pick(key, |slot| slot != first), Some(second));
                assert_eq!(draws.pick(key, |slot| slot == 1), Some(1));
                assert_eq!(draws.pick(key, |_| false), None);
            }
        }
    }
}
