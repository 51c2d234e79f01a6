//! Maglev hashing (Eisenbud et al., "Maglev: A Fast and Reliable Software Network Load Balancer", NSDI 2016, section
//! 3.4): each server has its own order of preference of a table's places, and the servers take places in turn. Nearly
//! even shares, a pick is one look, and few keys move when a server comes or goes.

use super::identity::{Addressed, seeds};
use crate::gcd::gcd_of;
use crate::mix::mix;

/// Which slot each place of the table belongs to.
#[derive(Debug)]
pub(crate) struct Maglev(Box<[u32]>);

/// Prime sizes: the first that is at least a hundred times the number of turns, as the paper advises for shares within
/// 1%, and Envoy's default at least.
const SIZES: [usize; 5] = [65_537, 131_071, 524_287, 1_048_573, 2_097_143];
const PLACES_PER_TURN: usize = 100;
/// Places looked at before the search for an open server is left to others.
const PLACES_MAX: usize = 64;
/// With more turns than this all servers get fewer, in proportion: a table with few rounds is uneven, and one with less
/// than a round leaves servers out.
const TURNS_MAX: usize = SIZES[SIZES.len() - 1] / 32;
const FREE: u32 = u32::MAX;

/// A server while the table is filled.
struct Entrant {
    slot: u32,
    /// Places taken in each round.
    turns: usize,
    /// What its preferences come from.
    seed: u64,
    next: u64,
    skip: u64,
}

impl Maglev {
    /// From servers with weights above 0, in the pool's order: their preferences come from their addresses. `all_weights` are those
    /// of every server in the pool, usable or not: size and turns come from them, and must not change with the servers' health.
    pub(crate) fn new(members: &[Addressed<'_>], all_weights: impl Iterator<Item = u32> + Clone) -> Self {
        if members.is_empty() {
            return Self(Box::default());
        }
        let divisor = gcd_of(all_weights.clone());
        let turns: usize = all_weights.map(|weight| (weight / divisor) as usize).sum();
        let own_turns = |weight: u32| {
            let own = (weight / divisor) as usize;
            if turns > TURNS_MAX { (own * TURNS_MAX / turns).max(1) } else { own }
        };
        let size =
            *SIZES.iter().find(|size| **size >= turns * PLACES_PER_TURN).unwrap_or(&SIZES[SIZES.len() - 1]);
        let entrant = |((slot, weight, _), seed): (&Addressed<'_>, u64)| Entrant {
            slot: *slot as u32,
            turns: own_turns(*weight),
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
    let mut table = vec![FREE; size];
    let mut taken = 0;
    loop {
        for entrant in &mut entrants {
            for _ in 0..entrant.turns {
                // There is a free place, and every place comes in an order of preference: the size is prime.
                while table[entrant.next as usize] != FREE {
                    entrant.step(size);
                }
                table[entrant.next as usize] = entrant.slot;
                entrant.step(size);
                taken += 1;
                if taken == size {
                    return table.into();
                }
            }
        }
    }
}

impl Entrant {
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

    /// The table while one server of the pool is down.
    fn without(weights: &[u32], down: usize) -> Maglev {
        let addresses: Vec<_> = (0..weights.len()).map(address).collect();
        let member = |(slot, weight): (usize, &u32)| (slot, *weight, &addresses[slot]);
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
