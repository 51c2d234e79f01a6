//! The draws of one server in rendezvous hashing.

use super::{BUCKET_BITS, BUCKETS};
use crate::mix::mix;

/// A server that draws waiting times for buckets.
#[derive(Debug)]
pub(super) struct Entrant {
    pub(super) slot: usize,
    /// Weight in thousandths.
    weight: f64,
    order: Order,
    seed: u64,
}

/// Order of the buckets for one server: a permutation that looks random and can be evaluated in both
/// directions.
#[derive(Debug)]
struct Order {
    offset: u32,
    factors: [u32; 3],
    /// Inverses of the factors.
    inverses: [u32; 3],
}

const MASK: u32 = BUCKETS - 1;

impl Entrant {
    /// Creates a server. `weight` is in thousandths and above 0. Two servers with the same seed and weight
    /// draw the same for every bucket.
    pub(super) fn new(slot: usize, seed: u64, weight: u32) -> Self {
        Self { slot, weight: f64::from(weight), order: Order::new(mix(seed)), seed }
    }

    /// Returns the weight in thousandths.
    pub(super) fn weight(&self) -> f64 {
        self.weight
    }

    /// Returns the bucket's position in this server's order.
    pub(super) fn place_of(&self, bucket: u32) -> u32 {
        self.order.place_of(bucket)
    }

    /// Returns the bucket at a position in this server's order.
    pub(super) fn bucket_at(&self, place: u32) -> u32 {
        self.order.bucket_at(place)
    }

    /// Draws the waiting time of a bucket that is at `place` in its order; `None` = it is not less than
    /// `limit`.
    ///
    /// The time is exponentially distributed with the weight as its rate. So a server is first in proportion
    /// to its weight.
    pub(super) fn wait_below(&self, bucket: u32, place: u32, limit: f64) -> Option<f64> {
        // -ln(1 - u) is at least u, so most draws need no logarithm. The factor allows for rounding.
        const LITTLE_LESS: f64 = 1.0 - 1e-9;
        if share_of_order(place, 0.0) * LITTLE_LESS >= limit * self.weight {
            return None;
        }
        // Adds a fraction within the position. Otherwise servers that have a bucket at the same position
        // would draw the same.
        let within = (mix(self.seed ^ u64::from(bucket)) >> 32) as f64 / (1_u64 << 32) as f64;
        let wait = -(-share_of_order(place, within)).ln_1p() / self.weight;
        (wait < limit).then_some(wait)
    }

    /// Returns the number of first buckets in its order whose waiting time may be less than `wait`.
    pub(super) fn places_within(&self, wait: f64) -> u32 {
        ((wait * self.weight * f64::from(BUCKETS)).ceil() as u32).saturating_add(1).min(BUCKETS)
    }
}

/// Returns the relative position in the order, from 0 to below 1.
fn share_of_order(place: u32, within: f64) -> f64 {
    (f64::from(place) + within) / f64::from(BUCKETS)
}

impl Order {
    fn new(random: u64) -> Self {
        let offset = random as u32 & MASK;
        // Only odd factors have an inverse.
        let factors = [random >> 20, random >> 42, mix(random)].map(|bits| bits as u32 | 1);
        Self { offset, factors, inverses: factors.map(inverse) }
    }

    fn place_of(&self, bucket: u32) -> u32 {
        let mix_by = |bits: u32, factor: u32| fold(bits.wrapping_mul(factor) & MASK);
        self.factors.into_iter().fold(bucket.wrapping_add(self.offset), mix_by)
    }

    fn bucket_at(&self, place: u32) -> u32 {
        let unmix = |bits: u32, inverse: u32| fold(bits).wrapping_mul(inverse) & MASK;
        self.inverses.into_iter().rev().fold(place, unmix).wrapping_sub(self.offset) & MASK
    }
}

/// Mixes the upper half into the lower half. Applied twice it changes nothing, because it shifts by half of
/// the bits.
fn fold(bits: u32) -> u32 {
    bits ^ (bits >> BUCKET_BITS.div_ceil(2))
}

/// Returns the inverse of an odd factor modulo 2^32. Each step doubles the number of correct bits.
fn inverse(factor: u32) -> u32 {
    (0..4).fold(factor, |known, _| known.wrapping_mul(2_u32.wrapping_sub(factor.wrapping_mul(known))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_has_every_bucket_once_and_can_be_gone_through_both_ways() {
        for seed in 0..20 {
            let order = Order::new(mix(seed));
            assert!((0..BUCKETS).all(|bucket| order.bucket_at(order.place_of(bucket)) == bucket));
            let places: std::collections::BTreeSet<_> =
                (0..BUCKETS).map(|bucket| order.place_of(bucket)).collect();
            assert_eq!(places.last(), Some(&MASK));
            assert_eq!(places.len(), BUCKETS as usize);
        }
    }

    #[test]
    fn servers_draw_evenly_for_their_first_buckets_wherever_those_lie() {
        // Counts the first buckets of many servers, by the sixteenth of all buckets that contains them.
        let mut sixteenths = [0_u32; 16];
        for seed in 0..4_000 {
            let entrant = Entrant::new(0, mix(seed), 1_000);
            (0..16)
                .for_each(|place| sixteenths[(entrant.bucket_at(place) >> (BUCKET_BITS - 4)) as usize] += 1);
        }
        let expected = 4_000.0;
        let squares: f64 = sixteenths.iter().map(|n| (f64::from(*n) - expected).powi(2) / expected).sum();
        assert!(squares < 15.0 + 5.0 * 30_f64.sqrt(), "{sixteenths:?}");
    }
}
