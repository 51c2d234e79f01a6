//! Bounded load: no server gets more than a given percentage of its fair share of all requests in flight.
//!
//! Sources: HAProxy's hash-balance-factor (chash_server_is_eligible in lb_chash.c); Mirrokni, Thorup,
//! Zadimoghaddam: "Consistent Hashing with Bounded Loads", 2016.
//!
//! HAProxy rounds a server's share up or down; the paper rounds all shares up. HAProxy's rule applies where a
//! walk over the servers decides. The paper's rule applies where the least loaded server decides: with it,
//! some server is always within its bound, and if any is, the least loaded one is. So no other server has to
//! be checked.

use std::sync::atomic::{AtomicI64, Ordering::SeqCst};

/// Counted requests in flight of all servers of a pool, including servers that have left. It has its own
/// cache lines.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct TotalLoad(AtomicI64);

/// The number of requests that each server may have.
#[derive(Debug)]
pub(crate) struct Bound {
    percent: u64,
    total_weight: u64,
    /// By slot: the sum of the shares of the servers before it in the pool's order, and its own share.
    shares: Box<[(u64, u64)]>,
}

impl TotalLoad {
    pub(crate) fn add(&self, requests: u32) {
        self.0.fetch_add(i64::from(requests), SeqCst);
    }

    pub(crate) fn subtract(&self, requests: u32) {
        self.0.fetch_sub(i64::from(requests), SeqCst);
    }

    /// Returns the total. It may be negative for a moment: when a server's requests start to be counted, some
    /// may end before they were added. Then it returns 0.
    fn now(&self) -> u64 {
        u64::try_from(self.0.load(SeqCst)).unwrap_or(0)
    }
}

impl Bound {
    /// Creates the bound from slots and shares, above 0 and in any unit, in the pool's order.
    pub(crate) fn new(percent: u32, in_order: &[(usize, u32)]) -> Self {
        let slots = in_order.iter().map(|(slot, _)| slot + 1).max().unwrap_or(0);
        let mut shares = vec![(0, 0); slots];
        let mut total_weight = 0;
        for (slot, weight) in in_order {
            shares[*slot] = (total_weight, u64::from(*weight));
            total_weight += u64::from(*weight);
        }
        Self { percent: u64::from(percent), total_weight, shares: shares.into() }
    }

    /// Returns true if the server in `slot`, which has `active` requests, may have one more.
    ///
    /// The number of places is that of the requests in flight plus the new one, times the factor, rounded up.
    /// The places are laid out in the order of the servers, so that one server's rounding loss goes to the
    /// next. Each server has at least one.
    pub(crate) fn permits(&self, slot: usize, active: u32, total: &TotalLoad) -> bool {
        let Some((before, own)) = self.shares.get(slot) else { return false };
        let places = self.places(total);
        let until = |weight: u64| {
            u64::try_from(u128::from(weight) * u128::from(places) / u128::from(self.total_weight.max(1)))
        };
        let (Ok(start), Ok(end)) = (until(*before), until(before + own)) else { return true };
        u64::from(active) < (end - start).max(1)
    }

    /// Returns true if the server in `slot` has less than its share of the places; that share rounded up is
    /// the number of requests that it may have.
    ///
    /// A server that [`Bound::permits`] a request is always within.
    pub(crate) fn is_within(&self, slot: usize, active: u32, total: &TotalLoad) -> bool {
        let Some((_, own)) = self.shares.get(slot) else { return false };
        load_key(u64::from(active), *own) < ordered(self.places(total) as f64 / self.total_weight as f64)
    }

    /// Returns the number of places of all servers together.
    fn places(&self, total: &TotalLoad) -> u64 {
        ((total.now() + 1) * self.percent).div_ceil(100)
    }
}

/// Returns requests in flight divided by the share, as a 43-bit number that keeps the order, to 32 binary
/// digits.
pub(crate) fn load_key(active: u64, share: u64) -> u64 {
    ordered(active as f64 / share as f64)
}

fn ordered(value: f64) -> u64 {
    // The bit patterns of positive floating point numbers sort like the numbers.
    const UNUSED_BITS: u32 = 20;
    value.to_bits() >> UNUSED_BITS
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Computes HAProxy's formula: whole places for each unit of effective weight (16 times the weight), and
    /// the rest in proportion.
    #[allow(clippy::manual_div_ceil, reason = "as it stands there")]
    fn haproxy_slots(weights: &[u64], index: usize, served: u64, factor: u64) -> u64 {
        let effective = |weights: &[u64]| weights.iter().map(|weight| weight * 16).sum::<u64>();
        let total_slots = ((served + 1) * factor + 99) / 100;
        let total_weight = effective(weights);
        let (own, before) = (weights[index] * 16, effective(&weights[..index]));
        let remainder = total_slots % total_weight;
        let slots = own * (total_slots / total_weight) + (before + own) * remainder / total_weight
            - before * remainder / total_weight;
        slots.max(1)
    }

    proptest! {
        #[test]
        fn a_server_has_as_many_places_as_haproxy_gives_it(
            weights in prop::collection::vec(1_u64..=256, 1..20),
            index in any::<prop::sample::Index>(),
            served in 0_u64..100_000,
            factor in 101_u64..1_000,
        ) {
            let index = index.index(weights.len());
            let in_order: Vec<_> = weights.iter().map(|weight| *weight as u32).enumerate().collect();
            let bound = Bound::new(factor as u32, &in_order);
            let total = TotalLoad::default();
            total.add(served as u32);
            let slots = haproxy_slots(&weights, index, served, factor) as u32;
            prop_assert!(bound.permits(index, slots - 1, &total));
            prop_assert!(!bound.permits(index, slots, &total));
        }

        #[test]
        fn the_least_loaded_server_is_always_within_and_only_those_below_their_part_rounded_up_are(
            servers in prop::collection::vec((1_u32..=2_560_000, 0_u32..100_000), 1..20),
            factor in 101_u32..1_000,
        ) {
            let in_order: Vec<_> = servers.iter().map(|(share, _)| *share).enumerate().collect();
            let bound = Bound::new(factor, &in_order);
            let total = TotalLoad::default();
            servers.iter().for_each(|(_, active)| total.add(*active));
            let keys = servers.iter().map(|(share, active)| load_key((*active).into(), (*share).into()));
            let (least, key) = keys.enumerate().min_by_key(|(_, key)| *key).unwrap();
            prop_assert!(key < 1 << 43);
            prop_assert!(bound.is_within(least, servers[least].1, &total));
            let requests: u64 = servers.iter().map(|(_, active)| u64::from(*active)).sum();
            let weight: u64 = servers.iter().map(|(share, _)| u64::from(*share)).sum();
            for (slot, (share, active)) in servers.iter().enumerate() {
                let places = ((requests + 1) * u64::from(factor)).div_ceil(100);
                let own = (u128::from(*share) * u128::from(places)).div_ceil(u128::from(weight));
                prop_assert!(!bound.is_within(slot, *active, &total) || u128::from(*active) < own);
            }
        }

        #[test]
        fn whoever_haproxy_permits_a_request_is_within(
            weights in prop::collection::vec(1_u32..=256, 1..20),
            index in any::<prop::sample::Index>(),
            served in 0_u32..100_000,
            factor in 101_u32..1_000,
        ) {
            let index = index.index(weights.len());
            let in_order: Vec<_> = weights.into_iter().enumerate().collect();
            let bound = Bound::new(factor, &in_order);
            let total = TotalLoad::default();
            total.add(served);
            let most = (0..=served).rev().find(|active| bound.permits(index, *active, &total)).unwrap();
            prop_assert!(bound.is_within(index, most, &total));
        }
    }
}
