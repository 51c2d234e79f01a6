//! HAProxy's static-rr: goes round the weighted map that the hashes also use.

use crate::weighted_map::WeightedMap;

/// One worker's position in the map.
#[derive(Debug, Default)]
pub(crate) struct StaticRr {
    next: usize,
}

impl StaticRr {
    /// Starts at a position of the worker's own.
    pub(crate) fn starting_at(start: usize) -> Self {
        Self { next: start }
    }

    /// Returns the next open server in the map, as map_get_server_rr (lb_map.c) does; `None` = none within
    /// reach.
    pub(crate) fn pick(&mut self, map: &WeightedMap, is_open: impl Fn(usize) -> bool) -> Option<usize> {
        let (place, slot) = map.find(self.next, is_open)?;
        self.next = place + 1;
        Some(slot)
    }
}
