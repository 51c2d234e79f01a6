//! An index that narrows the search for a position on a ring.

use std::ops::Range;

/// Index of a ring of 2^32 positions: it divides the ring into equal parts and stores where the points of
/// each begin.
///
/// A million points exceed the caches, and each step of a binary search would wait for memory. Points are
/// hashes, so they are evenly distributed, and each part has only a few.
#[derive(Debug)]
pub(super) struct Signpost {
    /// For each part, the index of the first point in it or after it; at the end, the number of all points.
    starts: Box<[u32]>,
    /// Number of low bits to drop from a position to get its part's number.
    shift: u32,
}

/// Average number of points in a part is at least this and less than twice this. Eight points fill a cache
/// line.
const POINTS_PER_PART: usize = 8;

impl Signpost {
    /// Creates the index from all points' positions, ascending; fewer than 2^32.
    pub(super) fn new(places: impl ExactSizeIterator<Item = u32>) -> Self {
        let count = places.len();
        let bits = (count / POINTS_PER_PART).max(1).ilog2();
        let shift = u32::BITS - bits;
        let parts = 1 << bits;
        let mut starts = Vec::with_capacity(parts + 1);
        for (index, place) in places.enumerate() {
            let begun = starts.len().max(part_of(place, shift) + 1);
            starts.resize(begun, index as u32);
        }
        starts.resize(parts + 1, count as u32);
        Self { starts: starts.into(), shift }
    }

    /// Returns the range of points to search for `place`: all points before the range are less than `place`,
    /// and all points after it are greater.
    pub(super) fn around(&self, place: u32) -> Range<usize> {
        let part = part_of(place, self.shift);
        self.starts[part] as usize..self.starts[part + 1] as usize
    }
}

/// Returns the part of a position. Widens to 64 bits because a 32-bit number cannot be shifted by 32 bits.
fn part_of(place: u32, shift: u32) -> usize {
    (u64::from(place) >> shift) as usize
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::hash::avalanche;

    fn found(places: &[u32], place: u32) -> usize {
        let around = Signpost::new(places.iter().copied()).around(place);
        around.start + places[around].partition_point(|point| *point < place)
    }

    #[test]
    fn of_evenly_spread_points_few_are_to_be_looked_at() {
        let mut places: Vec<u32> = (0..1 << 20).map(avalanche).collect();
        places.sort_unstable();
        let signpost = Signpost::new(places.iter().copied());
        assert!((0..10_000).map(avalanche).all(|place| signpost.around(place).len() <= 40));
        assert_eq!(signpost.starts.len(), (1 << 17) + 1);
    }

    proptest! {
        #[test]
        fn a_place_is_found_where_halving_finds_it(
            places in prop::collection::btree_set(any::<u32>(), 0..300),
            dense in prop::collection::btree_set(0_u32..40, 0..40),
            ends in any::<bool>(),
            wanted in any::<u32>(),
        ) {
            let mut all: Vec<u32> = places.into_iter().chain(dense).chain([0, u32::MAX].into_iter().filter(|_| ends)).collect();
            all.sort_unstable();
            let near = all.iter().flat_map(|place| [place.wrapping_sub(1), *place, place.wrapping_add(1)]);
            for place in near.chain([0, wanted, u32::MAX]) {
                prop_assert_eq!(found(&all, place), all.partition_point(|point| *point < place));
            }
        }
    }
}
