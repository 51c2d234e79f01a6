//! Maglev hashing (Eisenbud et al., "Maglev: A Fast and Reliable Software Network Load Balancer", NSDI 2016,
//! section 3.4).
//!
//! Each server has its own order of preference of the table's entries, and the servers take entries in turn.
//! The shares are nearly even, a pick is one look-up, and few keys move when a server is added or removed.
//!
//! A server takes entries in proportion to its weight: its kth entry is due at k / weight. So only the ratios
//! of weights count, and a small change of a weight moves few keys. The table's size is configured, like
//! Envoy's `table_size`. It does not depend on the servers, because in a table of another size nearly every
//! key has another entry.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::identity::{Addressed, seeds};
use crate::mix::mix;

/// The slot of each table entry.
#[derive(Debug)]
pub(crate) struct Maglev(Box<[u32]>);

/// Entries searched for an open server before the pick gives up.
const PLACES_MAX: usize = 64;
const FREE: u32 = u32::MAX;

/// A server while the table is filled.
struct Entrant {
    slot: u32,
    /// Part of its weight that counts, in any unit.
    share: u32,
    taken: u32,
    /// Number that determines its preferences.
    seed: u64,
    next: u64,
    skip: u64,
}

impl Maglev {
    /// Creates the table from servers and their shares, in any unit and above 0. Their preferences come from
    /// their addresses.
    ///
    /// `size` must be a prime number; otherwise a server's preferences may not reach all entries.
    pub(crate) fn new(members: &[Addressed<'_>], size: u32) -> Self {
        if members.is_empty() || size < 2 {
            return Self(Box::default());
        }
        let size = u64::from(size);
        let entrant = |((slot, share, _), seed): (&Addressed<'_>, u64)| Entrant {
            slot: *slot as u32,
            share: *share,
            taken: 0,
            seed,
            next: mix(seed) % size,
            skip: mix(!seed) % (size - 1) + 1,
        };
        let mut entrants: Vec<Entrant> = members.iter().zip(seeds(members)).map(entrant).collect();
        // The order of turns must not depend on the order of the servers.
        entrants.sort_unstable_by_key(|entrant| entrant.seed);
        let is_even = entrants.windows(2).all(|two| two[0].share == two[1].share);
        let table = Table { places: vec![FREE; size as usize].into(), free: size as usize };
        Self(if is_even {
            table.filled_in_rounds(&mut entrants)
        } else {
            table.filled_by_weight(&mut entrants)
        })
    }

    /// Returns the open server at `hash` or the next one in the table; `None` = none within reach.
    pub(crate) fn pick(&self, hash: u64, is_open: impl Fn(usize) -> bool) -> Option<usize> {
        let places = self.0.len();
        let first = (hash % places.max(1) as u64) as usize;
        let slot = |step: usize| self.0.get((first + step) % places.max(1)).map(|slot| *slot as usize);
        (0..places.min(PLACES_MAX)).filter_map(slot).find(|slot| is_open(*slot))
    }
}

struct Table {
    places: Box<[u32]>,
    free: usize,
}

impl Table {
    /// Lets the servers take entries one after the other, as in the paper.
    fn filled_in_rounds(mut self, entrants: &mut [Entrant]) -> Box<[u32]> {
        while self.free > 0 {
            entrants.iter_mut().take(self.free).for_each(|entrant| entrant.take_one(&mut self));
        }
        self.places
    }

    /// Lets the server whose next entry is due first take it; servers due at the same time go in turn.
    fn filled_by_weight(mut self, entrants: &mut [Entrant]) -> Box<[u32]> {
        let all = 0..entrants.len();
        let mut due: BinaryHeap<_> = all.map(|index| Reverse((entrants[index].due(), index))).collect();
        while self.free > 0
            && let Some(mut first) = due.peek_mut()
        {
            let Reverse((time, index)) = &mut *first;
            entrants[*index].take_one(&mut self);
            *time = entrants[*index].due();
        }
        self.places
    }
}

impl Entrant {
    /// Takes the free entry that the server prefers most. There must be one.
    fn take_one(&mut self, table: &mut Table) {
        // The order of preference contains every entry, because the size is prime.
        while table.places[self.next as usize] != FREE {
            self.step(table.places.len());
        }
        table.places[self.next as usize] = self.slot;
        self.step(table.places.len());
        self.taken += 1;
        table.free -= 1;
    }

    /// Returns the time at which its next entry is due, as a number that keeps the order. Equal quotients
    /// give equal numbers, because divisions are rounded correctly.
    fn due(&self) -> u64 {
        (f64::from(self.taken) / f64::from(self.share)).to_bits()
    }

    fn step(&mut self, size: usize) {
        self.next = (self.next + self.skip) % size as u64;
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use proptest::prelude::*;
    use weir_model::ServerAddress;

    use super::*;
    use crate::HashOptions;

    const SIZE: u32 = HashOptions::TABLE_SIZE;

    /// Creates the table of servers with these weights; a server with weight 0 is down.
    fn table(weights: &[u32]) -> Maglev {
        let addresses: Vec<_> = (0..weights.len()).map(address).collect();
        let member = |(slot, weight): (usize, &u32)| (slot, *weight, &addresses[slot]);
        let members: Vec<_> =
            weights.iter().enumerate().filter(|(_, weight)| **weight > 0).map(member).collect();
        Maglev::new(&members, SIZE)
    }

    fn address(slot: usize) -> ServerAddress {
        ServerAddress::Inet((Ipv4Addr::from_bits(0x0a00_0001 + slot as u32), 80).into())
    }

    fn own(table: &Maglev, slot: usize) -> f64 {
        table.0.iter().filter(|owner| **owner as usize == slot).count() as f64
    }

    /// Returns the share of entries that moved between servers other than `slot`.
    fn moved(before: &Maglev, after: &Maglev, slot: usize) -> f64 {
        assert_eq!(before.0.len(), after.0.len());
        let is_moved = |(old, new): &(&u32, &u32)| old != new && ![**old, **new].contains(&(slot as u32));
        before.0.iter().zip(&*after.0).filter(is_moved).count() as f64 / before.0.len() as f64
    }

    #[test]
    fn in_a_pool_of_any_size_every_server_has_places() {
        let weights: Vec<u32> = (0..10_000).map(|slot| 1 + slot % 256).collect();
        let mut places = vec![0; weights.len()];
        table(&weights).0.iter().for_each(|slot| places[*slot as usize] += 1);
        assert!(places.iter().all(|count| *count > 0));
    }

    #[test]
    fn more_servers_than_places_fill_the_table_all_the_same() {
        let addresses: Vec<_> = (0..500).map(address).collect();
        for weight in [|_: usize| 1, |slot: usize| 1 + slot as u32 % 3] {
            let members: Vec<_> =
                addresses.iter().enumerate().map(|(slot, address)| (slot, weight(slot), address)).collect();
            let table = Maglev::new(&members, 101);
            assert!(table.0.len() == 101 && table.0.iter().all(|slot| *slot != FREE));
        }
    }

    #[test]
    fn a_part_of_a_weight_is_a_part_of_the_places() {
        let whole = table(&[2_000; 20]);
        let mut weights = [2_000; 20];
        weights[7] = 500;
        let partly = table(&weights);
        assert!((own(&partly, 7) / own(&whole, 7) - 0.25 * 20.0 / 19.25).abs() < 0.01);
        assert!(moved(&whole, &partly, 7) < 0.05);
    }

    #[test]
    fn only_the_quotients_of_weights_count() {
        let of = |factor: u32| table(&[1, 2, 5, 7, 1, 3].map(|weight| weight * factor)).0;
        assert!([2, 3, 10, 1_000].into_iter().all(|factor| of(factor) == of(1)));
    }

    #[test]
    fn the_two_ways_of_filling_the_table_agree() {
        let [even, almost] = [1_000_000, 999_999].map(|last| {
            let mut weights = [1_000_000; 30];
            weights[29] = last;
            table(&weights)
        });
        let differ = even.0.iter().zip(&*almost.0).filter(|(a, b)| a != b).count();
        assert!(differ * 100 < even.0.len(), "{differ}");
    }

    #[test]
    fn a_small_change_of_a_large_pool_is_a_small_change() {
        for count in [99, 655, 656, 1_310, 2_000] {
            let sixteens = vec![16; count];
            let with = |weight: u32| [&sixteens[1..], &[weight]].concat();
            let before = table(&with(16));
            for weight in [0, 1, 15, 17, 32] {
                let share = moved(&before, &table(&with(weight)), count - 1);
                assert!(share < 0.05, "{count} servers, one of which has {weight}: {share}");
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20))]

        #[test]
        fn shares_follow_weights_within_two_percent(weights in prop::collection::vec(1_u32..=10, 1..40)) {
            let table = table(&weights);
            let total: u32 = weights.iter().sum();
            for (slot, weight) in weights.iter().enumerate() {
                let fair = table.0.len() as f64 * f64::from(*weight) / f64::from(total);
                let own = own(&table, slot);
                prop_assert!((own - fair).abs() <= fair * 0.02 + f64::from(*weight), "{own} of {fair}");
            }
        }

        #[test]
        fn a_server_that_goes_down_or_changes_its_weight_moves_few_keys_of_others(
            weights in prop_oneof![
                prop::collection::vec(1_u32..=1, 3..40),
                prop::collection::vec(1_u32..=9, 3..40),
                // Without the first server the weights have a common divisor.
                prop::collection::vec(2_u32..=2, 10..40).prop_map(|twos| [&[3], &twos[..]].concat()),
            ],
            changed in any::<prop::sample::Index>(),
            first: bool,
            weight in 0_u32..=12,
        ) {
            let changed = if first { 0 } else { changed.index(weights.len()) };
            let before = table(&weights);
            let mut weights = weights;
            weights[changed] = weight;
            // The paper's figure 12 shows some percent, not zero.
            let share = moved(&before, &table(&weights), changed);
            prop_assert!(share < 0.06, "{share}");
        }
    }
}
