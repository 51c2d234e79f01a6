//! Maglev hashing (Eisenbud et al., "Maglev: A Fast and Reliable Software Network Load Balancer", NSDI 2016, section
//! 3.4): each server has its own order of preference of a table's places, and the servers take places in turn. Nearly
//! even shares, a pick is one look, and few keys move when a server comes or goes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::identity::{Addressed, seeds};
use crate::gcd::gcd_of;
use crate::mix::mix;

/// Which slot each place of the table belongs to.
#[derive(Debug)]
pub(crate) struct Maglev(Box<[u32]>);

/// Prime sizes: the first that is at least a hundred times the number of turns, as the paper advises for shares within
/// 1%, and Envoy's default at least.
const SIZES: [usize; 5] = [65_537, 131_071, 524_287, 1_048_573, 2_097_143];
const PLACES_PER_TURN: u64 = 100;
/// Places looked at before the search for an open server is left to others.
const PLACES_MAX: usize = 64;
/// With more turns than this all servers get fewer, in proportion: a table with few rounds is uneven, and one with less
/// than a round leaves servers out.
const TURNS_MAX: u64 = SIZES[SIZES.len() - 1] as u64 / 32;
/// A turn, in the unit of credits.
const TURN: u64 = 1_000;
const FREE: u32 = u32::MAX;

/// A server while the table is filled.
struct Entrant {
    slot: u32,
    /// Places for each round, in thousandths.
    credit: u64,
    taken: u64,
    /// What its preferences come from.
    seed: u64,
    next: u64,
    skip: u64,
}

impl Maglev {
    /// From servers with what counts of their weights, in thousandths and above 0, in the pool's order: their preferences come from their
    /// addresses. `all_weights` are those of every server in the pool, usable or not: size and turns come from them, and must not
    /// change with the servers' health.
    pub(crate) fn new(members: &[Addressed<'_>], all_weights: impl Iterator<Item = u32> + Clone) -> Self {
        if members.is_empty() {
            return Self(Box::default());
        }
        let divisor = u64::from(gcd_of(all_weights.clone()));
        let turns: u64 = all_weights.map(|weight| u64::from(weight) / divisor).sum();
        // All get fewer where there are too many for the table.
        let credit = |share: u32| {
            let own = u64::from(share) / divisor;
            if turns > TURNS_MAX { own * TURNS_MAX / turns } else { own }
        };
        let size = *SIZES
            .iter()
            .find(|size| **size as u64 >= turns * PLACES_PER_TURN)
            .unwrap_or(&SIZES[SIZES.len() - 1]);
        let entrant = |((slot, share, _), seed): (&Addressed<'_>, u64)| Entrant {
            slot: *slot as u32,
            credit: credit(*share).max(1),
            taken: 0,
            seed,
            next: mix(seed) % size as u64,
            skip: mix(!seed) % (size as u64 - 1) + 1,
        };
        let mut entrants: Vec<Entrant> = members.iter().zip(seeds(members)).map(entrant).collect();
        // Whose turn is first must not depend on the order of the servers either.
        entrants.sort_unstable_by_key(|entrant| entrant.seed);
        Self(fill(size, entrants))
    }

    /// The open server at `hash` or next to it. None if there was none within reach.
    pub(crate) fn pick(&self, hash: u64, is_open: impl Fn(usize) -> bool) -> Option<usize> {
        let places = self.0.len();
        let first = (hash % places.max(1) as u64) as usize;
        let slot = |step: usize| self.0.get((first + step) % places.max(1)).map(|slot| *slot as usize);
        (0..places.min(PLACES_MAX)).filter_map(slot).find(|slot| is_open(*slot))
    }
}

fn fill(size: usize, mut entrants: Vec<Entrant>) -> Box<[u32]> {
    let mut table = Table { places: vec![FREE; size].into(), free: size };
    if entrants.iter().all(|entrant| entrant.credit.is_multiple_of(TURN)) {
        for round in 1.. {
            if !entrants.iter_mut().all(|entrant| entrant.take(round, &mut table)) {
                break;
            }
        }
        return table.places;
    }
    // The same, without looking in each round at those who take nothing in it.
    let all = 0..entrants.len();
    let mut due: BinaryHeap<Reverse<(u64, usize)>> = all.map(|index| Reverse((1, index))).collect();
    while let Some(Reverse((round, index))) = due.pop()
        && entrants[index].take(round, &mut table)
    {
        due.push(Reverse((entrants[index].next_round(), index)));
    }
    table.places
}

struct Table {
    places: Box<[u32]>,
    free: usize,
}

impl Entrant {
    /// Takes what is due in a round, counted from 1: something in the first one, whatever the credit. False = the table is full.
    fn take(&mut self, round: u64, table: &mut Table) -> bool {
        while self.taken * TURN < round * self.credit {
            if table.free == 0 {
                return false;
            }
            // There is a free place, and every place comes in an order of preference: the size is prime.
            while table.places[self.next as usize] != FREE {
                self.step(table.places.len());
            }
            table.places[self.next as usize] = self.slot;
            self.step(table.places.len());
            self.taken += 1;
            table.free -= 1;
        }
        true
    }

    /// The next round in which it takes something.
    fn next_round(&self) -> u64 {
        self.taken * TURN / self.credit + 1
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

    fn table(weights: &[u32]) -> Maglev {
        without(weights, usize::MAX)
    }

    /// The table where so many thousandths of each weight count.
    fn with_portions(weights: &[u32], portions: &[u32]) -> Maglev {
        let addresses: Vec<_> = (0..weights.len()).map(address).collect();
        let members = weights.iter().zip(portions).map(|(weight, portion)| weight * portion).zip(&addresses);
        let members: Vec<_> =
            members.enumerate().map(|(slot, (share, address))| (slot, share, address)).collect();
        Maglev::new(&members, weights.iter().copied())
    }

    /// The table while one server of the pool is down.
    fn without(weights: &[u32], down: usize) -> Maglev {
        let addresses: Vec<_> = (0..weights.len()).map(address).collect();
        let member = |(slot, weight): (usize, &u32)| (slot, weight * 1_000, &addresses[slot]);
        let members: Vec<_> =
            weights.iter().enumerate().filter(|(slot, _)| *slot != down).map(member).collect();
        Maglev::new(&members, weights.iter().copied())
    }

    fn address(slot: usize) -> ServerAddress {
        ServerAddress::Inet((Ipv4Addr::from_bits(0x0a00_0001 + slot as u32), 80).into())
    }

    #[test]
    fn in_a_pool_of_any_size_every_server_has_places() {
        let weights: Vec<u32> = (0..10_000).map(|slot| 1 + slot % 256).collect();
        let mut places = vec![0; weights.len()];
        table(&weights).0.iter().for_each(|slot| places[*slot as usize] += 1);
        assert!(places.iter().all(|count| *count > 0));
    }

    #[test]
    fn a_part_of_a_weight_is_a_part_of_the_places_and_moves_few_keys_of_others() {
        let whole = table(&[2; 20]);
        let mut portions = [1_000; 20];
        portions[7] = 250;
        let partly = with_portions(&[2; 20], &portions);
        let own = |table: &Maglev| table.0.iter().filter(|owner| **owner == 7).count() as f64;
        assert!((own(&partly) / own(&whole) - 0.25 * 20.0 / 19.25).abs() < 0.01);
        let places = whole.0.iter().zip(&*partly.0);
        let moved = places.filter(|(old, new)| **old != 7 && old != new).count();
        assert!(moved < whole.0.len() / 20, "{moved}");
    }

    #[test]
    fn the_two_ways_of_filling_the_table_agree() {
        let mut portions = [1_000; 30];
        let whole = with_portions(&[3; 30], &portions);
        portions[29] = 1;
        let almost = with_portions(&[3; 30], &portions);
        let without = without(&[3; 30], 29);
        let differ = |a: &Maglev, b: &Maglev| a.0.iter().zip(&*b.0).filter(|(a, b)| a != b).count();
        assert!(differ(&almost, &without) * 100 < almost.0.len() * 2, "next to nothing counts of one server");
        assert!(differ(&whole, &without) * 100 > whole.0.len() * 2);
    }

    #[test]
    fn the_sizes_are_prime() {
        for size in SIZES {
            assert!((2..).take_while(|d| d * d <= size).all(|divisor| size % divisor != 0), "{size}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20))]

        #[test]
        fn shares_follow_weights_within_two_percent(weights in prop::collection::vec(1_u32..=10, 1..40)) {
            let table = table(&weights);
            let total: u32 = weights.iter().sum();
            for (slot, weight) in weights.iter().enumerate() {
                let own = table.0.iter().filter(|owner| **owner as usize == slot).count() as f64;
                let fair = table.0.len() as f64 * f64::from(*weight) / f64::from(total);
                prop_assert!((own - fair).abs() <= fair * 0.02 + f64::from(*weight), "{own} of {fair}");
            }
        }

        #[test]
        fn a_server_that_goes_down_moves_few_keys_of_others(
            weights in prop_oneof![
                prop::collection::vec(1_u32..=1, 3..40),
                // One more turn than the smallest table is for; without the first server there is a common divisor.
                prop::collection::vec(1_u32..=1, 656..=656),
                prop::collection::vec(2_u32..=2, 10..40).prop_map(|twos| [&[3], &twos[..]].concat()),
            ],
            leaver in any::<prop::sample::Index>(),
            first: bool,
        ) {
            let leaver = if first { 0 } else { leaver.index(weights.len()) };
            let (before, after) = (table(&weights), without(&weights, leaver));
            prop_assert_eq!(before.0.len(), after.0.len());
            let places = before.0.iter().zip(&*after.0);
            let moved = places.filter(|(old, new)| **old as usize != leaver && old != new).count();
            // The paper's figure 12: some percent, not none.
            prop_assert!((moved as f64) < before.0.len() as f64 * 0.05, "{moved} of {}", before.0.len());
        }
    }
}
