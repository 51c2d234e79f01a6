use crate::Candidate;
use crate::mix::{below, nth};

/// IPVS's twos (ip_vs_twos.c): of two servers drawn by weight the one that has less to do.
///
/// The kernel draws a number from 0 to the sum of all weights, both included, and takes the weights off it in the pool's order
/// until nothing is left: the first server is drawn as if it weighed 1 more.
#[derive(Debug)]
pub(crate) struct IpvsTwos {
    slots: Box<[usize]>,
    /// For each server, the sum of the weights up to and with its own.
    cumulative: Box<[u64]>,
}

/// Draws before the search for an open server is left to others.
const DRAWS_MAX: u64 = 16;

impl IpvsTwos {
    /// From slots and weights above 0, in the pool's order.
    pub(crate) fn new(members: &[(usize, u32)]) -> Self {
        let mut total = 0;
        let cumulative = members.iter().map(|(_, weight)| {
            total += u64::from(*weight);
            total
        });
        let cumulative = cumulative.collect();
        Self { slots: members.iter().map(|(slot, _)| *slot).collect(), cumulative }
    }

    /// The first of two open servers that are drawn, be it the same twice, unless the second is better; None if no draw gave an
    /// open one.
    pub(crate) fn pick<'a>(
        &self,
        random: u64,
        is_open: impl Fn(usize) -> bool,
        candidate: impl Fn(usize) -> Option<&'a Candidate>,
        is_better: impl Fn(&Candidate, &Candidate) -> bool,
    ) -> Option<usize> {
        let limit = self.total() + 1;
        let numbers = (0..DRAWS_MAX).map(|index| below(nth(random, index), limit));
        let open = numbers.filter_map(|number| self.drawn(number)).filter(|slot| is_open(*slot));
        let mut drawn = open.filter_map(candidate);
        let first = drawn.next()?;
        let best = drawn.next().filter(|&second| is_better(second, first)).unwrap_or(first);
        Some(best.slot)
    }

    fn total(&self) -> u64 {
        self.cumulative.last().copied().unwrap_or(0)
    }

    /// Whose weight leaves nothing of the number.
    fn drawn(&self, number: u64) -> Option<usize> {
        self.slots.get(self.cumulative.partition_point(|sum| *sum < number)).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WEIGHTS: [i64; 5] = [3, 1, 7, 2, 256];

    /// The kernel's walk over the servers, a number at a time.
    fn walked(number: u64) -> Option<usize> {
        let mut rest = number.cast_signed();
        WEIGHTS.iter().position(|weight| {
            rest -= weight;
            rest <= 0
        })
    }

    #[test]
    fn every_number_draws_the_server_that_the_kernels_walk_ends_at() {
        let members: Vec<(usize, u32)> =
            WEIGHTS.iter().enumerate().map(|(slot, weight)| (slot, *weight as u32)).collect();
        let twos = IpvsTwos::new(&members);
        assert_eq!(twos.total(), 269);
        for number in 0..=269 {
            assert_eq!(twos.drawn(number), walked(number), "{number}");
        }
        let times = |slot| (0..=269).filter(|number| twos.drawn(*number) == Some(slot)).count();
        assert_eq!([0, 1, 2, 3, 4].map(times), [4, 1, 7, 2, 256], "the first has one more");
    }
}
