use crate::Candidate;
use crate::mix::{below, nth};

/// IPVS's twos (ip_vs_twos.c): of two servers drawn by weight the one that has less to do.
///
/// The kernel draws a number from 0 to the sum of the weights of all open servers, both included, and takes these weights off it in
/// the pool's order until nothing is left: the first server is drawn as if it weighed 1 more.
#[derive(Debug)]
pub(crate) struct IpvsTwos {
    /// Slots and weights.
    members: Box<[(usize, u32)]>,
    /// For each server, the sum of the weights up to and with its own.
    cumulative: Box<[u64]>,
}

/// Draws among all servers before those that are open are looked for one by one.
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
        Self { members: members.into(), cumulative }
    }

    /// The first of two open servers that are drawn, be it the same twice, unless the second is better; None if none is open.
    ///
    /// A draw that gives another one is made again, which leaves those that are open their shares.
    pub(crate) fn pick<'a>(
        &self,
        random: u64,
        is_open: impl Fn(usize) -> bool,
        candidate: impl Fn(usize) -> Option<&'a Candidate>,
        is_better: impl Fn(&Candidate, &Candidate) -> bool,
    ) -> Option<usize> {
        let limit = self.total() + 1;
        let numbers = (0..DRAWS_MAX).map(|index| below(nth(random, index), limit));
        let drawn = numbers.filter_map(|number| self.drawn(number, &is_open));
        // Few are open.
        let walked = (DRAWS_MAX..DRAWS_MAX + 2).filter_map(|index| self.walked(nth(random, index), &is_open));
        let mut chosen = drawn.chain(walked).filter_map(candidate);
        let first = chosen.next()?;
        let best = chosen.next().filter(|&second| is_better(second, first)).unwrap_or(first);
        Some(best.slot)
    }

    fn total(&self) -> u64 {
        self.cumulative.last().copied().unwrap_or(0)
    }

    /// Whose weight leaves nothing of the number, if that one is open. Of 0 the first open one leaves nothing.
    fn drawn(&self, number: u64, is_open: &impl Fn(usize) -> bool) -> Option<usize> {
        if number == 0 {
            return self.open(is_open).next().map(|(slot, _)| slot);
        }
        let at = self.cumulative.partition_point(|sum| *sum < number);
        self.members.get(at).map(|(slot, _)| *slot).filter(|slot| is_open(*slot))
    }

    /// As the kernel draws one: the open servers are summed up, and walked over.
    fn walked(&self, random: u64, is_open: &impl Fn(usize) -> bool) -> Option<usize> {
        let total: u64 = self.open(is_open).map(|(_, weight)| weight).sum();
        let mut rest = below(random, total + 1);
        let mut leaves_nothing = |weight: u64| {
            let is_last = rest <= weight;
            rest = rest.saturating_sub(weight);
            is_last
        };
        self.open(is_open).find(|(_, weight)| leaves_nothing(*weight)).map(|(slot, _)| slot)
    }

    fn open(&self, is_open: &impl Fn(usize) -> bool) -> impl Iterator<Item = (usize, u64)> {
        let members = self.members.iter().map(|(slot, weight)| (*slot, u64::from(*weight)));
        members.filter(move |(slot, _)| is_open(*slot))
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
            assert_eq!(twos.drawn(number, &|_| true), walked(number), "{number}");
        }
        let times = |slot| (0..=269).filter(|number| twos.drawn(*number, &|_| true) == Some(slot)).count();
        assert_eq!([0, 1, 2, 3, 4].map(times), [4, 1, 7, 2, 256], "the first has one more");
    }
}
