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
    /// For each bucket, one more than the index of its winner; 0 = not worked out yet. Whoever works it out gets the same. With
    /// [`UNCHALLENGED`], the newcomers have not been compared with it yet.
    winners: Box<[AtomicU32]>,
    /// Indices of servers that some of the winners have not been compared with.
    newcomers: Box<[usize]>,
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

/// With more servers that are new each is compared with a winner when that is asked for: whoever publishes a change must not take long
/// to compare each with every winner.
const NEWCOMERS_MAX: usize = 16;

/// A mark on a winner.
const UNCHALLENGED: u32 = 1 << 31;

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
        let unknown = || (0..1_usize << BUCKET_BITS).map(|_| AtomicU32::new(0)).collect();
        let (winners, newcomers) =
            known.map_or_else(|| (unknown(), Box::default()), |known| known.winners_among(&entrants));
        let is_even = entrants.windows(2).all(|two| two[0].weight == two[1].weight);
        Self { entrants, winners, newcomers, is_even }
    }

    /// The open server that the key's bucket prefers. O(1) once its first choice is known; O(n) the first time. None if no server that
    /// was asked is open.
    pub(crate) fn pick(&self, hash: u32, is_open: impl Fn(usize) -> bool) -> Option<usize> {
        let bucket = bucket_of(u64::from(hash));
        let first = self.winner(bucket)?;
        if is_open(first.slot) {
            return Some(first.slot);
        }
        if self.entrants.len() > ASK_ALL_MAX {
            let mut others = (1..=DETOURS).filter_map(|nth| self.winner(bucket_of(mix(bucket) ^ nth)));
            return others.find(|other| is_open(other.slot)).map(|other| other.slot);
        }
        let open = (0..self.entrants.len()).filter(|index| is_open(self.entrants[*index].slot));
        self.first_of(open, bucket).map(|index| self.entrants[index].slot)
    }

    fn winner(&self, bucket: u64) -> Option<&Entrant> {
        let known = &self.winners[bucket as usize];
        let index = match known.load(Relaxed) {
            0 => self.first_of(0..self.entrants.len(), bucket)?,
            found if found & UNCHALLENGED != 0 => {
                let winner = (found & !UNCHALLENGED) as usize - 1;
                self.first_of(std::iter::once(winner).chain(self.newcomers.iter().copied()), bucket)?
            }
            found => return self.entrants.get(found as usize - 1),
        };
        known.store(index as u32 + 1, Relaxed);
        self.entrants.get(index)
    }

    /// Which of these servers the bucket prefers; of equals the first in the pool's order.
    fn first_of(&self, indices: impl Iterator<Item = usize>, bucket: u64) -> Option<usize> {
        if self.is_even {
            return indices.min_by_key(|index| (Reverse(self.entrants[*index].number(bucket)), *index));
        }
        first_of(&self.entrants, indices, bucket)
    }

    /// The winners that are known here, among other servers, and those of the servers that the winners marked by
    /// [`UNCHALLENGED`] have not been compared with.
    fn winners_among(&self, entrants: &[Entrant]) -> (Box<[AtomicU32]>, Box<[usize]>) {
        let mut index_of: HashMap<(u64, u32), usize> =
            entrants.iter().enumerate().map(|(index, entrant)| (entrant.identity(), index)).collect();
        let stays: Vec<Option<usize>> =
            self.entrants.iter().map(|entrant| index_of.remove(&entrant.identity())).collect();
        // Those that are left are new; some others still are.
        let still_new = self.newcomers.iter().filter_map(|index| stays[*index]);
        let newcomers: Vec<usize> = still_new.chain(index_of.into_values()).collect();
        let at_once = newcomers.len() <= NEWCOMERS_MAX;
        let still = |(bucket, winner): (usize, &AtomicU32)| {
            let winner = (winner.load(Relaxed) & !UNCHALLENGED).checked_sub(1)?;
            let stays = (*stays.get(winner as usize)?)?;
            match newcomers.is_empty() {
                true => Some(stays as u32 + 1),
                false if at_once => {
                    let asked = std::iter::once(stays).chain(newcomers.iter().copied());
                    Some(first_of(entrants, asked, bucket as u64)? as u32 + 1)
                }
                false => Some((stays as u32 + 1) | UNCHALLENGED),
            }
        };
        let winners =
            self.winners.iter().enumerate().map(|at| AtomicU32::new(still(at).unwrap_or(0))).collect();
        (winners, if at_once { Box::default() } else { newcomers.into() })
    }
}

/// Which of these servers waits least for the bucket; of equals the first in the pool's order.
fn first_of(entrants: &[Entrant], indices: impl Iterator<Item = usize>, bucket: u64) -> Option<usize> {
    let mut best: Option<(f64, usize)> = None;
    for index in indices {
        let (entrant, number) = (&entrants[index], entrants[index].number(bucket));
        // Most need no logarithm.
        if best.is_some_and(|(least, _)| entrant.wait_at_least(number) > least) {
            continue;
        }
        let wait = entrant.wait(number);
        if best.is_none_or(|(least, other)| wait < least || (wait == least && index < other)) {
            best = Some((wait, index));
        }
    }
    best.map(|(_, index)| index)
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

    /// How long it lets the bucket wait for which it has drawn this number: exponentially distributed with its weight as the rate, so
    /// that it is the first in proportion to its weight.
    fn wait(&self, number: u64) -> f64 {
        -between_0_and_1(number).ln() / f64::from(self.weight)
    }

    /// Not more than that: -ln(u) is at least 1 - u. A little less, for what is rounded.
    fn wait_at_least(&self, number: u64) -> f64 {
        const LITTLE_LESS: f64 = 1.0 - 1e-9;
        (1.0 - between_0_and_1(number)) * LITTLE_LESS / f64::from(self.weight)
    }
}

fn between_0_and_1(number: u64) -> f64 {
    (number as f64 + 0.5) / (1_u64 << MANTISSA_BITS) as f64
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
    fn what_many_newcomers_leave_behind_is_what_would_be_drawn_anew() {
        let many = |from: u32, to: u32| -> Vec<(u32, u32)> {
            (from..to).map(|number| (number, 1 + number % 3)).collect()
        };
        let mut known = draws(&many(0, 100), None);
        choices(&known);
        for (from, to) in [(0, 150), (20, 200), (20, 210), (100, 300), (100, 301)] {
            let set = many(from, to);
            let carried = draws(&set, Some(&known));
            let is_marked = |winner: &AtomicU32| winner.load(Relaxed) & UNCHALLENGED != 0;
            assert!(carried.winners.iter().any(is_marked), "newcomers are compared when they are asked for");
            // Only some of the buckets are asked for in between.
            for key in 0..5_000 {
                carried.pick(key, |_| true);
            }
            assert_eq!(choices(&draws(&set, Some(&carried))), choices(&draws(&set, None)), "{from} to {to}");
            known = carried;
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
                // Of very many, the others are left to those who know loads.
                let only = if count as usize > ASK_ALL_MAX { None } else { Some(1) };
                assert!([only, Some(1)].contains(&draws.pick(key, |slot| slot == 1)));
                assert_eq!(draws.pick(key, |_| false), None);
            }
        }
    }
}
