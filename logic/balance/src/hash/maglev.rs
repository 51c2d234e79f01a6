//! Maglev hashing (Eisenbud et al., "Maglev: A Fast and Reliable Software Network Load Balancer", NSDI 2016, section
//! 3.4): each server has its own order of preference of a table's places, and the servers take places in turn. Nearly
//! even shares, a pick is one look, and few keys move when a server comes or goes.
//!
//! How often a server's turn comes is proportional to its weight: its kth place is due at k / weight. So nothing but the quotients of weights
//! counts, and a weight that changes a little moves few keys, too. The table's size is given, as Envoy's `table_size` is, and comes neither from the
//! number of servers nor from their weights: in a table of another size nearly every key is at another place.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::identity::{Addressed, seeds};
use crate::mix::mix;

/// Which slot each place of the table belongs to.
#[derive(Debug)]
pub(crate) struct Maglev(Box<[u32]>);

/// Places looked at before the search for an open server is left to others.
const PLACES_MAX: usize = 64;
const FREE: u32 = u32::MAX;

/// A server while the table is filled.
struct Entrant {
    slot: u32,
    /// What counts of its weight, in any unit.
    share: u32,
    taken: u32,
    /// What its preferences come from.
    seed: u64,
    next: u64,
    skip: u64,
}

impl Maglev {
    /// From servers with what counts of their weights, in any unit and above 0: their preferences come from their addresses. `size` has to
    /// be a prime number, or a server may not like all places.
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
        // Whose turn is first must not depend on the order of the servers.
        entrants.sort_unstable_by_key(|entrant| entrant.seed);
        let is_even = entrants.windows(2).all(|two| two[0].share == two[1].share);
        let table = Table { places: vec![FREE; size as usize].into(), free: size as usize };
        Self(if is_even {
            table.filled_in_rounds(&mut entrants)
        } else {
            table.filled_by_weight(&mut entrants)
        })
    }

    /// The open server at `hash` or next to it. None if there was none within reach.
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
    /// One after the other, as the paper has it.
    fn filled_in_rounds(mut self, entrants: &mut [Entrant]) -> Box<[u32]> {
        while self.free > 0 {
            entrants.iter_mut().take(self.free).for_each(|entrant| entrant.take_one(&mut self));
        }
        self.places
    }

    /// Whose next place is due first; where several are, in turn.
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
    /// Takes the free place that it likes best. There must be one.
    fn take_one(&mut self, table: &mut Table) {
        // Every place comes in an order of preference: the size is prime.
        while table.places[self.next as usize] != FREE {
            self.step(table.places.len());
        }
        table.places[self.next as usize] = self.slot;
        self.step(table.places.len());
        self.taken += 1;
        table.free -= 1;
    }

    /// When its next place is due, as a number that compares alike. Equal quotients are equal, as divisions are rounded correctly.
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

    /// The table of servers with these weights, of which those with 0 are down.
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

    /// The share of places that have changed hands between others than `slot`.
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
                // Without the first server there is a common divisor.
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
            // The paper's figure 12: some percent, not none.
            let share = moved(&before, &table(&weights), changed);
            prop_assert!(share < 0.06, "{share}");
        }
    }
}
