//! Bounded load: no server gets more than so many percent of its fair part of all requests in flight (HAProxy's
//! hash-balance-factor, chash_server_is_eligible in lb_chash.c; Mirrokni, Thorup, Zadimoghaddam: "Consistent Hashing with
//! Bounded Loads", 2016).

use std::sync::atomic::{AtomicI64, Ordering::SeqCst};

/// Requests in flight at all servers of a pool that are counted, those that have left included. Alone on its cache lines.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct TotalLoad(AtomicI64);

/// How many requests each server may have.
#[derive(Debug)]
pub(crate) struct Bound {
    percent: u64,
    total_weight: u64,
    /// By slot: what counts of the weights of the servers before it in the pool's order, and of its own.
    shares: Box<[(u64, u64)]>,
}

impl TotalLoad {
    pub(crate) fn add(&self, requests: u32) {
        self.0.fetch_add(i64::from(requests), SeqCst);
    }

    pub(crate) fn subtract(&self, requests: u32) {
        self.0.fetch_sub(i64::from(requests), SeqCst);
    }

    /// While a server's requests begin to be counted, some may end before they were; that is not less than none.
    fn now(&self) -> u64 {
        u64::try_from(self.0.load(SeqCst)).unwrap_or(0)
    }
}

impl Bound {
    /// From slots and what counts of their weights, above 0 and in any unit, in the pool's order.
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

    /// Whether the server in `slot`, which has `active` requests, may have one more.
    ///
    /// The places are those for the requests in flight and the new one, times the factor, rounded up. They are laid out in
    /// the order of the servers, so that what is rounded off for one goes to the next; nobody is left without a place.
    pub(crate) fn permits(&self, slot: usize, active: u32, total: &TotalLoad) -> bool {
        let Some((before, own)) = self.shares.get(slot) else { return false };
        let places = ((total.now() + 1) * self.percent).div_ceil(100);
        let until = |weight: u64| {
            u64::try_from(u128::from(weight) * u128::from(places) / u128::from(self.total_weight.max(1)))
        };
        let (Ok(start), Ok(end)) = (until(*before), until(before + own)) else { return true };
        u64::from(active) < (end - start).max(1)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The formula as it stands there: whole places for each unit of effective weight (16 times the weight), and the rest
    /// in proportion.
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
    }
}
