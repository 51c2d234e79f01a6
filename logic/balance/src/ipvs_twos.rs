//! IPVS's twos: the less loaded of two weighted random draws.

use std::sync::Arc;

use crate::Candidate;
use crate::mix::nth;
use crate::open_weights::OpenWeights;

/// IPVS's twos (ip_vs_twos.c): of two servers drawn by weight, the one with less load.
///
/// The kernel draws a number from 0 to the sum of the weights of all open servers, both included. It
/// subtracts these weights in the pool's order until nothing is left. So the first server is drawn as if its
/// weight were 1 more.
#[derive(Debug)]
pub(crate) struct IpvsTwos(Arc<OpenWeights>);

/// Draws before the pick gives up. It makes more than two only when a drawn server fills up at this moment.
const DRAWS_MAX: u64 = 8;

impl IpvsTwos {
    /// Creates the draw from slots and weights above 0, in the pool's order.
    pub(crate) fn new(members: &[(usize, u32)]) -> Self {
        Self(Arc::new(OpenWeights::new(members)))
    }

    /// Returns the weights that must be updated when servers fill up or have room again.
    pub(crate) fn open_weights(&self) -> &Arc<OpenWeights> {
        &self.0
    }

    /// Draws two open servers, possibly the same one twice, and returns the first unless the second is
    /// better; `None` = none is open.
    pub(crate) fn pick<'a>(
        &self,
        random: u64,
        exclude: &[usize],
        is_open: impl Fn(usize) -> bool,
        candidate: impl Fn(usize) -> Option<&'a Candidate>,
        is_better: impl Fn(&Candidate, &Candidate) -> bool,
    ) -> Option<usize> {
        let drawn = (0..DRAWS_MAX).filter_map(|index| self.0.draw(nth(random, index), exclude));
        let mut chosen = drawn.filter(|slot| is_open(*slot)).filter_map(candidate);
        let first = chosen.next()?;
        let best = chosen.next().filter(|&second| is_better(second, first)).unwrap_or(first);
        Some(best.slot)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::Arc;

    use weir_model::{ServerAddress, Weight};

    use super::*;
    use crate::{Portion, ServerLoad};

    fn candidate(slot: usize, connections_max: u32) -> Candidate {
        Candidate {
            slot,
            rank: slot as u32,
            address: ServerAddress::Unix("/run/web.sock".into()),
            weight: Weight::ONE,
            name_key: 0,
            portion: Portion::WHOLE,
            priority: 0,
            backup: false,
            is_local: true,
            eligible: true,
            half_open: false,
            keeps_clients: true,
            connections_max: Some(connections_max),
            load: Arc::new(ServerLoad::default()),
        }
    }

    #[test]
    fn no_more_than_two_servers_are_looked_at_however_few_of_many_have_room() {
        const OPEN: [usize; 3] = [17, 4_711, 9_998];
        let max = |slot: usize| u32::from(OPEN.contains(&slot));
        let candidates: Vec<Candidate> = (0..10_000).map(|slot| candidate(slot, max(slot))).collect();
        let members: Vec<(usize, u32)> = (0..10_000).map(|slot| (slot, 1 + slot as u32 % 5)).collect();
        let twos = IpvsTwos::new(&members);
        candidates.iter().for_each(|one| twos.open_weights().refresh(one.slot, one));
        let looked_at = Cell::new(0);
        let is_open = |slot: usize| {
            looked_at.set(looked_at.get() + 1);
            candidates[slot].has_room()
        };
        for random in 0..1_000 {
            let picked = twos.pick(nth(random, 0), &[], is_open, |slot| candidates.get(slot), |_, _| false);
            assert!(picked.is_some_and(|slot| OPEN.contains(&slot)), "{picked:?}");
            assert_eq!(looked_at.replace(0), 2);
            let picked = twos.pick(random, &OPEN, is_open, |slot| candidates.get(slot), |_, _| false);
            assert_eq!((picked, looked_at.get()), (None, 0));
        }
    }
}
