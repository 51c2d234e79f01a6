//! Weighted random draws of servers.

use std::hint::cold_path;
use std::ops::Range;
use std::sync::Arc;

use crate::ServerLoad;
use crate::mix::{below, nth};

/// Draws a few servers at random by weight and keeps the best of them.
///
/// Each pick draws different servers, so with thousands of servers no cache holds their data. For each drawn
/// server a pick reads two cache lines if all weights are equal and no server can be full. With different
/// weights it reads a third and a fourth, fewer than a binary search would.
#[derive(Debug)]
pub(crate) struct WeightedDraw {
    entrants: Box<[Entrant]>,
    total: u64,
    shares: Shares,
}

/// A server that may be drawn, with the data by which most algorithms compare it. It fits on one cache line.
#[derive(Debug)]
#[repr(align(16))]
pub(crate) struct Entrant {
    pub(crate) load: Arc<ServerLoad>,
    /// Part of its weight that counts, relative to the other servers.
    pub(crate) share: u32,
    slot: u32,
}

/// Assignment of shares of the total to servers.
#[derive(Debug)]
enum Shares {
    /// Every server has this share.
    Equal(u64),
    Weighted {
        /// For each server, the sum of the shares up to and including its own.
        cumulative: Box<[u64]>,
        /// The total is divided into as many equal parts as servers; for each part, the owner of its
        /// beginning (Chen, Asau: "On generating random variates from an empirical distribution", 1974). The
        /// server in question is one or two steps further, on average.
        guide: Box<[u32]>,
    },
}

/// Parameters of one choice among a few drawn servers.
pub(crate) struct Draw {
    /// Number of servers drawn.
    pub(crate) draws: u8,
    /// True if each server differs from the one drawn before it.
    pub(crate) distinct: bool,
    /// A random number, evenly distributed.
    pub(crate) random: u64,
}

/// Rounds of draws before the pick gives up.
const ROUNDS_MAX: u64 = 8;

impl Entrant {
    /// Creates an entry; `share` is above 0.
    pub(crate) fn new(slot: usize, share: u32, load: &Arc<ServerLoad>) -> Self {
        Self { load: Arc::clone(load), share, slot: slot as u32 }
    }

    /// Returns the slot in the pool.
    pub(crate) fn slot(&self) -> usize {
        self.slot as usize
    }
}

impl WeightedDraw {
    pub(crate) fn new(entrants: Vec<Entrant>) -> Self {
        let shares: Vec<u32> = entrants.iter().map(|entrant| entrant.share).collect();
        let total = shares.iter().copied().map(u64::from).sum();
        let shares = match shares.as_slice() {
            [first, others @ ..] if others.iter().all(|share| share == first) => {
                Shares::Equal(u64::from(*first))
            }
            shares => weighted(shares, total),
        };
        Self { entrants: entrants.into(), total, shares }
    }

    /// Returns the slot of the best open server among those drawn; of equals the one drawn first. `None` = no
    /// drawn server was open.
    pub(crate) fn pick(
        &self,
        draw: &Draw,
        is_open: impl Fn(usize) -> bool,
        is_better: impl Fn(&Entrant, &Entrant) -> bool,
    ) -> Option<usize> {
        let mut randoms = (0..).map(|index| nth(draw.random, index));
        for _ in 0..ROUNDS_MAX {
            let mut best: Option<&Entrant> = None;
            let mut last = None;
            for _ in 0..draw.draws {
                let drawn = self.draw(randoms.next()?, last.filter(|_| draw.distinct))?;
                last = Some(drawn);
                let Some(one) = self.entrants.get(drawn).filter(|one| is_open(one.slot())) else {
                    continue;
                };
                if best.is_none_or(|best| is_better(one, best)) {
                    // The branch lets the CPU predict the result and load the server's memory in the
                    // meantime. The first server drawn usually wins, because most servers have equally little
                    // load.
                    if best.is_some() {
                        cold_path();
                    }
                    best = Some(one);
                }
            }
            if let Some(best) = best {
                return Some(best.slot());
            }
        }
        None
    }

    /// Draws an index of the entrants, other than `not` unless there is no other.
    fn draw(&self, random: u64, not: Option<usize>) -> Option<usize> {
        let cut_out = match not.filter(|_| self.entrants.len() > 1) {
            Some(not) => self.shares.of(not),
            None => self.total..self.total,
        };
        let share = below(random, self.total - (cut_out.end - cut_out.start));
        // Skips the range that must not be drawn.
        let share = if share < cut_out.start { share } else { share + (cut_out.end - cut_out.start) };
        let drawn = self.shares.owner_of(share, self.total);
        (drawn < self.entrants.len()).then_some(drawn)
    }
}

fn weighted(shares: &[u32], total: u64) -> Shares {
    let mut sum = 0;
    let cumulative = shares.iter().map(|share| {
        sum += u64::from(*share);
        sum
    });
    let cumulative: Box<[u64]> = cumulative.collect();
    let parts = cumulative.len() as u64;
    let mut owner = 0;
    let guide = (0..parts).map(|part| {
        // The least share of this part.
        let share = (part * total).div_ceil(parts);
        while cumulative[owner] <= share {
            owner += 1;
        }
        owner as u32
    });
    let guide = guide.collect();
    Shares::Weighted { cumulative, guide }
}

impl Shares {
    /// Returns the range of shares of the server at this index.
    fn of(&self, index: usize) -> Range<u64> {
        match self {
            Self::Equal(weight) => index as u64 * weight..(index as u64 + 1) * weight,
            Self::Weighted { cumulative, .. } => {
                index.checked_sub(1).map_or(0, |before| cumulative[before])..cumulative[index]
            }
        }
    }

    /// Returns the index of the server that owns `share` of the total.
    fn owner_of(&self, share: u64, total: u64) -> usize {
        match self {
            Self::Equal(weight) => (share / weight.max(&1)) as usize,
            Self::Weighted { cumulative, guide } => {
                let part = share * guide.len() as u64 / total.max(1);
                let mut owner = guide.get(part as usize).map_or(cumulative.len(), |owner| *owner as usize);
                while cumulative.get(owner).is_some_and(|end| *end <= share) {
                    owner += 1;
                }
                owner
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mix::mix;

    fn draw_of(shares: &[u32]) -> WeightedDraw {
        let load = Arc::default();
        let entrants = shares.iter().enumerate().map(|(slot, share)| Entrant::new(slot, *share, &load));
        WeightedDraw::new(entrants.collect())
    }

    fn owners(weights: &[u32]) -> Vec<usize> {
        let draw = draw_of(weights);
        (0..draw.total).map(|share| draw.shares.owner_of(share, draw.total)).collect()
    }

    fn owners_one_by_one(weights: &[u32]) -> Vec<usize> {
        weights.iter().enumerate().flat_map(|(index, weight)| vec![index; *weight as usize]).collect()
    }

    #[test]
    fn each_share_belongs_to_whoever_brought_it_be_weights_equal_or_not() {
        for weights in [&[1; 5][..], &[7; 3], &[1], &[256, 1, 1, 1], &[1, 1, 1, 256], &[3, 1, 256, 2, 2]] {
            assert_eq!(owners(weights), owners_one_by_one(weights), "{weights:?}");
        }
        for seed in 0..200 {
            let weights: Vec<u32> =
                (0..1 + seed % 40).map(|index| (mix(seed * 1000 + index) % 256) as u32 + 1).collect();
            assert_eq!(owners(&weights), owners_one_by_one(&weights), "{weights:?}");
        }
    }

    #[test]
    fn what_each_has_is_what_it_owns() {
        for weights in [&[4; 6][..], &[5, 1, 9, 2]] {
            let draw = draw_of(weights);
            for (index, weight) in weights.iter().enumerate() {
                let range = draw.shares.of(index);
                assert_eq!(range.end - range.start, u64::from(*weight));
                assert!(range.clone().all(|share| draw.shares.owner_of(share, draw.total) == index));
            }
        }
    }

    #[test]
    fn of_a_server_that_is_drawn_one_line_of_memory_is_read_besides_its_load() {
        assert_eq!((size_of::<Entrant>(), align_of::<Entrant>()), (16, 16));
    }

    #[test]
    fn of_equals_the_one_drawn_first_is_picked() {
        let draw = draw_of(&[1; 50]);
        for random in 0..200 {
            let first = draw.draw(nth(random, 0), None);
            let picked = draw.pick(&Draw { draws: 2, distinct: true, random }, |_| true, |_, _| false);
            assert_eq!(picked, first);
            let last = draw.pick(&Draw { draws: 2, distinct: true, random }, |_| true, |_, _| true);
            assert_ne!(last, first, "the others are drawn, too");
        }
    }

    #[test]
    fn nobody_is_drawn_of_nobody() {
        assert_eq!(draw_of(&[]).draw(mix(1), None), None);
    }
}
