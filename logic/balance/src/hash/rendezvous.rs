//! Rendezvous hashing (Thaler, Ravishankar: "Using name-based mappings to increase hit rates", 1998), with
//! weights.
//!
//! Each server draws a waiting time for the key, and the server with the shortest one gets the key. When a
//! server is removed, exactly its own keys move, each to its second choice. A change of a server's weight
//! moves keys only to or from that server.
//!
//! Asking every server for every key would cost O(n). Here keys first go into a fixed number of buckets, and
//! the servers draw for the bucket. Each server orders the buckets in its own way and draws by the position
//! in that order. So a few of each server's first buckets suffice to find the winners of all buckets, however
//! many servers there are.
//!
//! The approximation is this: keys of one bucket always go together, and a server's share is a whole number
//! of buckets. It differs from the fair share by about one over the square root of that number. The moves of
//! keys are exact.

mod entrant;

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::identity::{Addressed, seeds};
use crate::mix::mix;

use entrant::Entrant;

/// The draws of one set of servers.
#[derive(Debug)]
pub(crate) struct Rendezvous {
    entrants: Box<[Entrant]>,
    /// For each bucket, the winner's slot plus one; 0 = not computed yet. Every thread computes the same
    /// value.
    winners: Box<[AtomicU32]>,
}

/// Number of buckets, as a power of two. It is a constant: if it depended on the number of servers, one more
/// server could move all keys.
const BUCKET_BITS: u32 = 17;
pub(crate) const BUCKETS: u32 = 1 << BUCKET_BITS;

/// Largest number of servers that are all asked, for a bucket's winner on first use, and for the next choice
/// if the winner has no room.
///
/// With more servers, the winners are computed in advance, and the winners of other buckets are the next
/// choices.
const ASK_ALL_MAX: usize = 256;

/// Number of other buckets whose winners are tried.
const DETOURS: u64 = 16;

impl Rendezvous {
    /// Creates the draws from servers and their shares, in thousandths and above 0, in the pool's order.
    ///
    /// The draws come from the addresses; of several servers with the same address each has its own draws.
    pub(crate) fn new(servers: &[Addressed<'_>]) -> Self {
        let entrant = |((slot, weight, _), seed): (&Addressed<'_>, u64)| Entrant::new(*slot, seed, *weight);
        let entrants: Box<[Entrant]> = servers.iter().zip(seeds(servers)).map(entrant).collect();
        let winners =
            if entrants.len() > ASK_ALL_MAX { winners(&entrants) } else { vec![None; BUCKETS as usize] };
        let slot = |index: u32| entrants[index as usize].slot as u32;
        let known = |winner: Option<u32>| AtomicU32::new(winner.map_or(0, |index| slot(index) + 1));
        let winners = winners.into_iter().map(known).collect();
        Self { entrants, winners }
    }

    /// Returns the open server that the key's bucket prefers; `None` = no server that was asked is open.
    ///
    /// O(1): it asks at most [`ASK_ALL_MAX`] servers, however many there are.
    pub(crate) fn pick(&self, hash: u32, is_open: impl Fn(usize) -> bool) -> Option<usize> {
        let bucket = bucket_of(u64::from(hash));
        let first = self.winner(bucket)?;
        if is_open(first) {
            return Some(first);
        }
        if self.entrants.len() > ASK_ALL_MAX {
            let other = |nth| self.winner(bucket_of(mix(u64::from(bucket)) ^ nth));
            let mut others = (1..=DETOURS).filter_map(other);
            return others.find(|other| is_open(*other));
        }
        let open = (0..self.entrants.len()).filter(|index| is_open(self.entrants[*index].slot));
        first_of(&self.entrants, open, bucket).map(|index| self.entrants[index].slot)
    }

    /// Returns the slot of the bucket's winner.
    fn winner(&self, bucket: u32) -> Option<usize> {
        let known = &self.winners[bucket as usize];
        match known.load(Relaxed).checked_sub(1) {
            Some(slot) => Some(slot as usize),
            None => {
                let index = first_of(&self.entrants, 0..self.entrants.len(), bucket)?;
                let slot = self.entrants[index].slot;
                known.store(slot as u32 + 1, Relaxed);
                Some(slot)
            }
        }
    }
}

/// Returns the server that lets the bucket wait least; of equals the first in the pool's order.
fn first_of(entrants: &[Entrant], indices: impl Iterator<Item = usize>, bucket: u32) -> Option<usize> {
    let mut best: Option<(f64, usize)> = None;
    for index in indices {
        let entrant = &entrants[index];
        let shortest = best.map_or(f64::INFINITY, |(wait, _)| wait);
        if let Some(wait) = entrant.wait_below(bucket, entrant.place_of(bucket), shortest) {
            best = Some((wait, index));
        }
    }
    best.map(|(_, index)| index)
}

/// Returns the winner of each bucket, with about ten draws for each bucket in all.
///
/// Each server draws for the first buckets in its order, until its further draws would exceed the waiting
/// times of all but a few buckets. All servers are asked for those few.
fn winners(entrants: &[Entrant]) -> Vec<Option<u32>> {
    /// Draws expected for each bucket. With this many, one bucket in e^10 = 22,000 gets none.
    const DRAWS_A_BUCKET: f64 = 10.0;
    let total: f64 = entrants.iter().map(Entrant::weight).sum();
    let horizon = DRAWS_A_BUCKET / total;
    let mut best = vec![(f64::INFINITY, 0_u32); BUCKETS as usize];
    for (index, entrant) in entrants.iter().enumerate() {
        for place in 0..entrant.places_within(horizon) {
            let bucket = entrant.bucket_at(place);
            let (shortest, winner) = &mut best[bucket as usize];
            if let Some(wait) = entrant.wait_below(bucket, place, *shortest) {
                (*shortest, *winner) = (wait, index as u32);
            }
        }
    }
    let of_bucket = |(bucket, (wait, winner)): (usize, (f64, u32))| {
        if wait < horizon {
            return Some(winner);
        }
        first_of(entrants, 0..entrants.len(), bucket as u32).map(|index| index as u32)
    };
    best.into_iter().enumerate().map(of_bucket).collect()
}

fn bucket_of(key: u64) -> u32 {
    (mix(key) >> (u64::BITS - BUCKET_BITS)) as u32
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use weir_model::ServerAddress;

    use super::*;

    fn address(number: u32) -> ServerAddress {
        ServerAddress::Inet((Ipv4Addr::from_bits(0x0a00_0000 + number), 80).into())
    }

    /// Creates draws from numbers and weights; the number is also the slot.
    fn draws(servers: &[(u32, u32)]) -> Rendezvous {
        let addresses: Vec<_> = servers.iter().map(|(number, _)| address(*number)).collect();
        let servers = servers.iter().zip(&addresses);
        let servers: Vec<_> =
            servers.map(|((number, weight), address)| (*number as usize, *weight, address)).collect();
        Rendezvous::new(&servers)
    }

    #[test]
    fn winners_worked_out_in_advance_are_those_of_whom_all_are_asked() {
        for weight in [|_| 1_000, |number: u32| 1 + number % 7 * 1_000, |number| 1 + (number % 300) * 8_533] {
            // The slots differ from the indices in the list.
            let servers: Vec<_> = (0..1_000).map(|number| (number + 7, weight(number))).collect();
            let draws = draws(&servers);
            for bucket in (0..BUCKETS).step_by(37) {
                let asked = first_of(&draws.entrants, 0..servers.len(), bucket);
                let known = draws.winners[bucket as usize].load(Relaxed);
                let slot = asked.map(|index| draws.entrants[index].slot as u32);
                assert_eq!(slot.map(|slot| slot + 1), Some(known), "bucket {bucket}");
            }
        }
    }

    #[test]
    fn shares_of_buckets_follow_weights_as_those_of_chance_do() {
        for count in [2, 3, 10, 100, 300, 2_000] {
            let servers: Vec<_> = (0..count).map(|number| (number, 1_000 * (1 + number % 3))).collect();
            let total: u32 = servers.iter().map(|(_, weight)| weight).sum();
            let draws = draws(&servers);
            let mut buckets = vec![0_u32; count as usize];
            for bucket in 0..BUCKETS {
                buckets[draws.winner(bucket).unwrap()] += 1;
            }
            // The sum over the servers of (share - expected)^2 / expected has this mean, and a variance of
            // twice the mean.
            let freedom = f64::from(count - 1);
            let squares: f64 = servers
                .iter()
                .map(|(number, weight)| {
                    let expected = f64::from(BUCKETS) * f64::from(*weight) / f64::from(total);
                    (f64::from(buckets[*number as usize]) - expected).powi(2) / expected
                })
                .sum();
            let limit = freedom + 5.0 * (2.0 * freedom).sqrt();
            assert!(squares < limit, "{count} servers: {squares} of {limit}");
        }
    }

    #[test]
    fn only_the_leavers_keys_move_also_where_the_way_of_finding_winners_changes() {
        let servers: Vec<_> = (0..=ASK_ALL_MAX as u32).map(|number| (number, 1 + number % 3)).collect();
        let (before, after) = (draws(&servers), draws(&servers[1..]));
        let mut moved = 0;
        for key in 0..200_000 {
            let (old, new) = (before.pick(key, |_| true).unwrap(), after.pick(key, |_| true).unwrap());
            moved += u32::from(old == 0);
            assert!(old == new || old == 0, "key {key} moved from {old} to {new}");
        }
        assert!(moved > 0);
    }

    #[test]
    fn a_key_whose_server_has_no_room_goes_to_one_that_has_whatever_their_number() {
        for count in [2, ASK_ALL_MAX as u32 + 1, 2_000] {
            let servers: Vec<_> = (0..count).map(|number| (number, 1)).collect();
            let draws = draws(&servers);
            for key in 0..50 {
                let first = draws.pick(key, |_| true).unwrap();
                let second = draws.pick(key, |slot| slot != first).unwrap();
                assert_ne!(first, second);
                assert_eq!(draws.pick(key, |slot| slot != first), Some(second));
                // With very many servers, the caller chooses among the others by load.
                let only = if count as usize > ASK_ALL_MAX { None } else { Some(1) };
                assert!([only, Some(1)].contains(&draws.pick(key, |slot| slot == 1)));
                assert_eq!(draws.pick(key, |_| false), None);
            }
        }
    }
}
