//! HAProxy's weighted map for hashes and static-rr (lb_map.c). Each server occurs as often as its weight
//! says, in HAProxy's order, so that a client gets the same server as in HAProxy.
//!
//! HAProxy fills each entry of the map by visiting every server. It adds the server's weight to its score,
//! takes the first server with the most whole totals in its score, and subtracts the total from that score.
//! This code visits a server only when its score passes a whole total; so 10,000 servers take about a
//! millisecond.
//!
//! Differences from HAProxy:
//! - HAProxy lets a request wait for its server when that server is at its maxconn. Here the request goes to
//!   the next open server in the map, unless `fallback = false`.
//! - HAProxy counts only the first backup server; here all of them count.
//!
//! As in HAProxy, clients without an address go round the map.

use crate::gcd::gcd_of;

/// The slot of each entry of the map.
#[derive(Debug)]
pub(crate) struct WeightedMap(Box<[u32]>);

const THOUSANDTHS: u64 = 1_000;

/// Entries per unit of weight if some weight counts in part: hundredths, as long as there is room.
const PARTS: u64 = 100;

/// Most entries of a map with hundredths. Beyond that, fractions are rounded more coarsely, because the map
/// would need too much memory.
const FINE_PLACES_MAX: u64 = 1 << 20;

/// Number of entries searched for an open server, from the hash's own entry on, before the search gives up.
const PLACES_MAX: usize = 64;

impl WeightedMap {
    /// Creates the map from slots and shares, in thousandths, in the pool's order.
    ///
    /// `all_weights` are the weights of every server in the pool, usable or not. The map is divided by their
    /// greatest common divisor, which must not change with the servers' health.
    pub(crate) fn new(members: &[(usize, u32)], all_weights: impl Iterator<Item = u32>) -> Self {
        let unit = u64::from(gcd_of(all_weights)) * THOUSANDTHS;
        let shares = || members.iter().map(|(_, share)| u64::from(*share));
        let weights: Vec<u64> = if shares().all(|share| share % unit == 0) {
            shares().map(|share| share / unit).collect()
        } else {
            let whole = shares().sum::<u64>().div_ceil(unit);
            let parts = (FINE_PLACES_MAX / whole.max(1)).clamp(1, PARTS);
            shares().map(|share| ((share * parts + unit / 2) / unit).max(1)).collect()
        };
        let slot = |member: usize| u32::try_from(members[member].0).unwrap_or(u32::MAX);
        Self(order(&weights).into_iter().map(slot).collect())
    }

    /// Returns the open server at `hash` or the next one in the map; `None` = none within reach.
    pub(crate) fn pick(&self, hash: usize, is_open: impl Fn(usize) -> bool) -> Option<usize> {
        self.find(hash, is_open).map(|(_, slot)| slot)
    }

    /// Returns the first entry from `start` on, round the map, whose server is open, and that server.
    pub(crate) fn find(&self, start: usize, is_open: impl Fn(usize) -> bool) -> Option<(usize, usize)> {
        let places = self.0.len();
        let first = start.checked_rem(places)?;
        let place = |step: usize| {
            let place = (first + step) % places;
            (place, self.0[place] as usize)
        };
        (0..places.min(PLACES_MAX)).map(place).find(|(_, slot)| is_open(*slot))
    }
}

/// Returns the map's entries as indices into `weights`.
///
/// In round r, a server's score is r * weight - picks * total; its level is the number of whole totals in it,
/// plus one. So the level starts at 1, falls by one with each pick, and rises by one in the rounds k * total
/// / weight.
fn order(weights: &[u64]) -> Vec<usize> {
    let total: u64 = weights.iter().sum();
    let mut level = vec![1_usize; weights.len()];
    let mut rises = vec![0_u64; weights.len()];
    let mut members_at: Vec<IndexSet> = vec![IndexSet::new(weights.len()); LEVEL_MAX + 1];
    let mut agenda = Agenda::new(total, weights.len());
    for (member, weight) in weights.iter().enumerate() {
        members_at[1].insert(member);
        agenda.put(total.div_ceil(*weight), member);
    }
    let mut order = Vec::with_capacity(total as usize);
    for round in 1..=total {
        while let Some(member) = agenda.take(round) {
            members_at[level[member].min(LEVEL_MAX)].remove(member);
            level[member] += 1;
            members_at[level[member].min(LEVEL_MAX)].insert(member);
            rises[member] += 1;
            agenda.put(((rises[member] + 1) * total).div_ceil(weights[member]), member);
        }
        let Some(member) = members_at.iter().rev().find_map(IndexSet::first) else { break };
        order.push(member);
        members_at[level[member].min(LEVEL_MAX)].remove(member);
        level[member] = level[member].saturating_sub(1);
        members_at[level[member].min(LEVEL_MAX)].insert(member);
    }
    order
}

/// HAProxy's "result between 0 and 3".
const LEVEL_MAX: usize = 3;

/// The members that rise in each round; each member is on the agenda at most once.
struct Agenda {
    first: Vec<u32>,
    next: Vec<u32>,
}

const NOBODY: u32 = u32::MAX;

impl Agenda {
    fn new(rounds: u64, members: usize) -> Self {
        Self { first: vec![NOBODY; rounds as usize + 1], next: vec![NOBODY; members] }
    }

    /// Adds `member` to a round. Drops rounds after the last one.
    fn put(&mut self, round: u64, member: usize) {
        if let Some(first) = self.first.get_mut(round as usize) {
            self.next[member] = std::mem::replace(first, member as u32);
        }
    }

    fn take(&mut self, round: u64) -> Option<usize> {
        let first = self.first.get_mut(round as usize).filter(|first| **first != NOBODY)?;
        let member = *first as usize;
        *first = self.next[member];
        Some(member)
    }
}

/// A set of small numbers that finds its smallest quickly: one bit for each number, and one bit for each 64
/// of those.
#[derive(Clone)]
struct IndexSet {
    bits: Vec<u64>,
    words: Vec<u64>,
}

impl IndexSet {
    fn new(size: usize) -> Self {
        let words = size.div_ceil(64);
        Self { bits: vec![0; words], words: vec![0; words.div_ceil(64)] }
    }

    fn insert(&mut self, index: usize) {
        self.bits[index / 64] |= 1 << (index % 64);
        self.words[index / 4096] |= 1 << (index / 64 % 64);
    }

    fn remove(&mut self, index: usize) {
        self.bits[index / 64] &= !(1 << (index % 64));
        if self.bits[index / 64] == 0 {
            self.words[index / 4096] &= !(1 << (index / 64 % 64));
        }
    }

    fn first(&self) -> Option<usize> {
        let (group, words) = self.words.iter().enumerate().find(|(_, words)| **words != 0)?;
        let word = group * 64 + words.trailing_zeros() as usize;
        Some(word * 64 + self.bits[word].trailing_zeros() as usize)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Fills the map exactly as HAProxy does: it visits every server for every entry.
    fn haproxy_order(weights: &[u64]) -> Vec<usize> {
        let total: u64 = weights.iter().sum();
        let mut score = vec![0_i64; weights.len()];
        let mut order = Vec::new();
        for _ in 0..total {
            let mut best: Option<(usize, i64)> = None;
            for (member, weight) in weights.iter().enumerate() {
                score[member] += *weight as i64;
                let totals = (score[member] + total as i64) / total as i64;
                if best.is_none_or(|(_, most)| totals > most) {
                    best = Some((member, totals));
                }
            }
            let Some((member, _)) = best else { break };
            score[member] -= total as i64;
            order.push(member);
        }
        order
    }

    #[test]
    fn the_common_divisor_of_all_weights_is_taken_out() {
        let slots = |members: &[(usize, u32)], all: &[u32]| WeightedMap::new(members, all.iter().copied()).0;
        assert_eq!(*slots(&[(0, 4_000), (1, 2_000)], &[4, 2, 0]), [0, 0, 1]);
        assert_eq!(*slots(&[(0, 4_000), (1, 2_000)], &[4, 2, 3]), [0, 0, 1, 0, 0, 1]);
    }

    #[test]
    fn parts_of_weights_are_hundredths_as_long_as_there_is_room() {
        let map = |count: usize, weight: u32| {
            let share = |slot: usize| if slot == 0 { weight * 250 } else { weight * 1_000 };
            let members: Vec<_> = (0..count).map(|slot| (slot, share(slot))).collect();
            let map = WeightedMap::new(&members, std::iter::once(1)).0;
            (map.len(), map.iter().filter(|slot| **slot == 0).count())
        };
        assert_eq!(map(4, 1), (3 * 100 + 25, 25));
        assert_eq!(map(10_000, 256), (9_999 * 256 + 64, 64));
    }

    #[test]
    fn ten_thousand_servers_each_have_their_place() {
        let members: Vec<(usize, u32)> = (0..10_000).map(|slot| (slot, 1_000)).collect();
        let map = WeightedMap::new(&members, std::iter::once(1));
        assert!(map.0.iter().enumerate().all(|(place, slot)| place == *slot as usize));
    }

    proptest! {
        #[test]
        fn the_map_is_filled_as_haproxy_fills_it(weights in prop::collection::vec(1_u64..=40, 1..40)) {
            prop_assert_eq!(order(&weights), haproxy_order(&weights));
        }

        #[test]
        fn an_index_set_knows_its_smallest(indices in prop::collection::btree_set(0_usize..20_000, 0..50)) {
            let mut set = IndexSet::new(20_000);
            indices.iter().for_each(|index| set.insert(*index));
            for index in &indices {
                prop_assert_eq!(set.first(), Some(*index));
                set.remove(*index);
            }
            prop_assert_eq!(set.first(), None);
        }
    }
}
