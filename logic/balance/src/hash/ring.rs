//! Consistent hashing: each server has many points on a ring of 2^32 positions, and a key belongs to the
//! server of the nearest point. When a server is added or removed, only the keys next to its points move.

use super::avalanche;
use super::signpost::Signpost;

/// A ring of points, ascending by position.
#[derive(Debug)]
pub(crate) struct Ring {
    points: Box<[Point]>,
    signpost: Signpost,
}

#[derive(Debug, Clone, Copy)]
struct Point {
    place: u32,
    slot: u32,
}

/// Most points on the ring; beyond that it would need too much memory.
const POINTS_MAX: u64 = 1 << 20;
/// One unit of weight; weights are in thousandths.
const UNIT: u64 = 1_000;
/// Points searched for an open server before the pick gives up.
pub(super) const STEPS_MAX: usize = 256;

/// Number of points between one server's id and the next one's, before hashing: HAProxy's SRV_EWGHT_RANGE.
const POINTS_PER_ID: u32 = 256 * 16;

/// Returns the key of HAProxy's `hash-key id`, its default. The position in the pool's order, counted from 1,
/// stands for the id.
pub(crate) fn position_key(rank: u32) -> u32 {
    rank.wrapping_add(1).wrapping_mul(POINTS_PER_ID)
}

/// Returns the key of `hash-key id` in HAProxy 3.0 to 3.2 before October 2025. That change was a mistake that
/// moved most keys; HAProxy reverted it.
pub(crate) fn id_key(rank: u32) -> u32 {
    avalanche(rank.wrapping_add(1))
}

/// Returns the key of HAProxy's `hash-key id32`, since 3.4: the id in network byte order, hashed.
pub(crate) fn id32_key(rank: u32) -> u32 {
    avalanche(rank.wrapping_add(1).swap_bytes())
}

/// Factor that keeps the number of all points at or below `max`, in steps of at least one thirty-second.
///
/// An exact factor would move points of all servers at each change of one server. With steps, points move
/// only when a change crosses a step.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reduction {
    thirty_seconds: u64,
    halvings: u32,
}

impl Reduction {
    pub(super) fn new(wanted: u64, max: u64) -> Self {
        let step = |halvings| (17..=32).rev().map(move |thirty_seconds| Self { thirty_seconds, halvings });
        let all = Self { thirty_seconds: 32, halvings: 0 };
        (0..u64::BITS).flat_map(step).find(|step| step.of(wanted) <= max).unwrap_or(all)
    }

    pub(super) fn of(self, points: u64) -> u64 {
        ((u128::from(points) * u128::from(self.thirty_seconds) / 32) >> self.halvings) as u64
    }
}

impl Ring {
    /// Creates HAProxy's ring (lb_chash.c): 16 points for each unit of weight, which is 1,000 here, and at
    /// least one point.
    ///
    /// `servers` are slots, weights and the key that a server's points are hashed from; their positions
    /// depend on that key alone.
    ///
    /// `whole_weights`, in the same unit, are the full weights of all servers, up or down. The number of
    /// points for a unit must not change with the servers' health, nor during a slow start.
    pub(crate) fn new(mut servers: Vec<(usize, u32, u32)>, whole_weights: impl Iterator<Item = u32>) -> Self {
        const POINTS_PER_WEIGHT: u64 = 16;
        let points_of = |weight: u32| u64::from(weight) * POINTS_PER_WEIGHT / UNIT;
        let wanted = whole_weights.map(points_of).sum();
        let reduction = Reduction::new(wanted, POINTS_MAX);
        let share = |weight: u32| reduction.of(points_of(weight)).max(1);
        // If two points have the same position, the lower key's point wins, whatever the order of the
        // servers.
        servers.sort_by_key(|(_, _, key)| *key);
        let mut points = Vec::with_capacity(reduction.of(wanted) as usize + servers.len());
        for (slot, weight, key) in servers {
            let place = |point: u64| avalanche(key.wrapping_add(point as u32));
            let own = (0..share(weight)).map(place);
            points.extend(own.map(|place| Point { place, slot: slot as u32 }));
        }
        points.sort_by_key(|point| point.place);
        points.dedup_by_key(|point| point.place);
        let signpost = Signpost::new(points.iter().map(|point| point.place));
        Self { points: points.into(), signpost }
    }

    /// Returns the open server at `hash`, or the next one on the ring; `None` = none within reach.
    pub(crate) fn pick(&self, hash: u32, is_open: impl Fn(usize) -> bool) -> Option<usize> {
        self.find(self.owner(hash)?, is_open)
    }

    /// Returns the open server at the `turn`th point, counted round the ring, or the next one.
    pub(crate) fn walk(&self, turn: u32, is_open: impl Fn(usize) -> bool) -> Option<usize> {
        self.find((turn as usize).checked_rem(self.points.len())?, is_open)
    }

    fn find(&self, first: usize, is_open: impl Fn(usize) -> bool) -> Option<usize> {
        let count = self.points.len();
        let slot = |step: usize| self.points[(first + step) % count].slot as usize;
        (0..count.min(STEPS_MAX)).map(slot).find(|slot| is_open(*slot))
    }

    /// Returns the point nearest to `hash`; at equal distances the one before it.
    fn owner(&self, hash: u32) -> Option<usize> {
        let count = self.points.len();
        let around = self.signpost.around(hash);
        let behind = self.points[around.clone()].partition_point(|point| point.place < hash);
        let next = (around.start + behind).checked_rem(count)?;
        let before = (next + count - 1) % count;
        let to_before = hash.wrapping_sub(self.points[before].place);
        let to_next = self.points[next].place.wrapping_sub(hash);
        Some(if to_before <= to_next { before } else { next })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Creates the ring of servers with these weights; the servers at `down` are down.
    fn ring(weights: &[u32], down: &[usize]) -> Ring {
        let member = |(slot, weight): (usize, &u32)| (slot, weight * 1_000, position_key(slot as u32));
        let is_up = |(slot, weight): &(usize, &u32)| **weight > 0 && !down.contains(slot);
        let members = weights.iter().enumerate().filter(is_up).map(member).collect();
        Ring::new(members, weights.iter().map(|weight| weight * 1_000))
    }

    #[test]
    fn a_ring_without_points_has_no_server_and_one_of_a_single_point_the_same_one_everywhere() {
        let none = Ring::new(Vec::new(), std::iter::empty());
        let one = Ring::new(vec![(3, 1, 0)], [1].into_iter());
        assert_eq!(one.points.len(), 1);
        let place = one.points[0].place;
        for hash in [0, place.wrapping_sub(1), place, place.wrapping_add(1), u32::MAX] {
            assert_eq!((none.pick(hash, |_| true), one.pick(hash, |_| true)), (None, Some(3)));
        }
    }

    #[test]
    fn a_place_belongs_to_the_nearest_point_round_the_ring() {
        let ring = ring(&[1, 2, 3], &[]);
        let nearest = |hash: u32| {
            let way = |point: &&Point| hash.wrapping_sub(point.place).min(point.place.wrapping_sub(hash));
            ring.points.iter().min_by_key(way).map(|point| point.slot as usize)
        };
        let near = |point: &Point| [point.place.wrapping_sub(1), point.place, point.place.wrapping_add(1)];
        for hash in ring.points.iter().flat_map(near).chain([0, u32::MAX]) {
            assert_eq!(ring.pick(hash, |_| true), nearest(hash), "{hash}");
        }
    }

    /// Expected values computed by HAProxy's formula, independently of this code (tests/golden/work-out).
    #[test]
    fn an_id_of_32_bits_counts_as_with_haproxys_hash_key() {
        assert_eq!([0, 1].map(id32_key), [0xec04_b54d, 0xee70_3059]);
    }

    #[test]
    fn a_ring_too_large_for_memory_keeps_its_proportions() {
        let weights: Vec<u32> = (0..10_000).map(|slot| if slot % 2 == 0 { 256 } else { 128 }).collect();
        let ring = ring(&weights, &[]);
        assert!(ring.points.len() as u64 <= POINTS_MAX + 10_000);
        let heavy = ring.points.iter().filter(|point| point.slot % 2 == 0).count();
        let share = heavy as f64 / ring.points.len() as f64;
        assert!((0.65..0.68).contains(&share), "{share}");
    }

    #[test]
    fn a_change_that_crosses_the_limit_of_memory_moves_few_keys() {
        // 257 servers want more points than there is room for; 256 fill it exactly.
        let weights = [256; 257];
        let (before, after) = (ring(&weights, &[]), ring(&weights[..256], &[]));
        let moved = (0..20_000).map(avalanche).filter(|key| {
            let owner = before.pick(*key, |_| true);
            owner != Some(256) && owner != after.pick(*key, |_| true)
        });
        assert!((1..2_000).contains(&moved.count()));
    }

    #[test]
    fn what_servers_get_is_as_much_as_there_is_room_for_to_a_thirty_second() {
        for wanted in [1, 100, 101, 106, 200, 201, 1_000, 12_345, u64::MAX] {
            let got = Reduction::new(wanted, 100).of(wanted);
            assert!(got <= 100 && (got == wanted || got >= 93), "{got} of {wanted}");
        }
    }

    #[test]
    fn in_a_ring_too_large_for_memory_a_server_that_leaves_moves_only_its_own_keys() {
        let weights = [256; 300];
        let (before, down) = (ring(&weights, &[]), ring(&weights, &[7]));
        let removed = ring(&[&weights[..7], &[0], &weights[8..]].concat(), &[]);
        for key in (0..20_000).map(avalanche) {
            let owner = before.pick(key, |_| true).unwrap();
            for after in [&down, &removed] {
                assert!(owner == 7 || after.pick(key, |_| true) == Some(owner));
            }
        }
    }

    proptest! {
        #[test]
        fn a_server_that_leaves_moves_only_its_own_keys(
            weights in prop::collection::vec(1_u32..=8, 2..20),
            leaver in any::<prop::sample::Index>(),
        ) {
            let leaver = leaver.index(weights.len());
            let (before, after) = (ring(&weights, &[]), ring(&weights, &[leaver]));
            for key in (0..2_000).map(avalanche) {
                let owner = before.pick(key, |_| true).unwrap();
                let new = after.pick(key, |_| true).unwrap();
                prop_assert!(owner == new || owner == leaver);
            }
        }

        #[test]
        fn a_closed_server_is_passed_over(weights in prop::collection::vec(1_u32..=8, 2..20), key: u32) {
            let ring = ring(&weights, &[]);
            let owner = ring.pick(key, |_| true).unwrap();
            let other = ring.pick(key, |slot| slot != owner).unwrap();
            prop_assert!(other != owner);
        }

        #[test]
        fn shares_follow_weights(weights in prop::collection::vec(1_u32..=4, 2..6)) {
            const KEYS: u32 = 20_000;
            let total: u32 = weights.iter().sum();
            let ring = ring(&weights, &[]);
            let mut counts = vec![0_u32; weights.len()];
            for key in (0..KEYS).map(avalanche) {
                counts[ring.pick(key, |_| true).unwrap()] += 1;
            }
            for (count, weight) in counts.iter().zip(&weights) {
                let share = f64::from(*count) * f64::from(total) / (f64::from(KEYS) * f64::from(*weight));
                // 16 points for a unit of weight are few, so the lengths of the arcs vary.
                prop_assert!((0.25..2.5).contains(&share), "{counts:?} for {weights:?}");
            }
        }
    }
}
