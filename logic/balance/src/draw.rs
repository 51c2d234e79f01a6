use std::ops::Range;

use crate::Candidate;
use crate::mix::{below, nth};

/// Draws servers at random by weight, a few at a time, and keeps the best of them.
///
/// What is drawn differs from pick to pick, so that of thousands of servers no cache holds what is looked at: a draw looks at two or
/// three lines of memory, not at as many as a search has steps.
#[derive(Debug)]
pub(crate) struct WeightedDraw {
    slots: Box<[u32]>,
    total: u64,
    shares: Shares,
}

/// Which share of the total is whose.
#[derive(Debug)]
enum Shares {
    /// Each has as much.
    Equal(u64),
    Weighted {
        /// For each slot, the sum of the weights up to and with its own.
        cumulative: Box<[u64]>,
        /// Of as many equal parts of the total, whose the beginning of each is (Chen, Asau: "On generating random variates from an
        /// empirical distribution", 1974): the one that is sought is a step or two further, on average.
        guide: Box<[u32]>,
    },
}

/// One choice among a few drawn servers.
pub(crate) struct Draw {
    /// Servers drawn for it.
    pub(crate) draws: u8,
    /// Each differs from the one drawn before it.
    pub(crate) distinct: bool,
    /// Evenly spread.
    pub(crate) random: u64,
}

/// Rounds of draws before the search for an open server is left to others.
const ROUNDS_MAX: u64 = 8;

impl WeightedDraw {
    /// From slots and weights above 0.
    pub(crate) fn new(members: &[(usize, u32)]) -> Self {
        let total = members.iter().map(|(_, weight)| u64::from(*weight)).sum();
        let slots = members.iter().map(|(slot, _)| *slot as u32).collect();
        let shares = match members {
            [(_, first), others @ ..] if others.iter().all(|(_, weight)| weight == first) => {
                Shares::Equal(u64::from(*first))
            }
            _ => weighted(members, total),
        };
        Self { slots, total, shares }
    }

    /// The open server among those drawn that is better than every one drawn before it and no worse than those after;
    /// None if no draw gave an open one.
    pub(crate) fn pick<'a>(
        &self,
        draw: &Draw,
        is_open: impl Fn(usize) -> bool,
        candidate: impl Fn(usize) -> Option<&'a Candidate>,
        is_better: impl Fn(&Candidate, &Candidate) -> bool,
    ) -> Option<usize> {
        let mut randoms = (0..).map(|index| nth(draw.random, index));
        for _ in 0..ROUNDS_MAX {
            let mut best: Option<(usize, &Candidate)> = None;
            let mut last = None;
            for _ in 0..draw.draws {
                let drawn = self.draw(randoms.next()?, last.filter(|_| draw.distinct))?;
                last = Some(drawn);
                let slot = self.slots[drawn] as usize;
                let Some(one) = Some(slot).filter(|slot| is_open(*slot)).and_then(&candidate) else {
                    continue;
                };
                if best.is_none_or(|(_, best)| is_better(one, best)) {
                    best = Some((slot, one));
                }
            }
            if let Some((slot, _)) = best {
                return Some(slot);
            }
        }
        None
    }

    /// Which of the slots is drawn; another than `not`, unless there is no other.
    fn draw(&self, random: u64, not: Option<usize>) -> Option<usize> {
        let cut_out = match not.filter(|_| self.slots.len() > 1) {
            Some(not) => self.shares.of(not),
            None => self.total..self.total,
        };
        let share = below(random, self.total - (cut_out.end - cut_out.start));
        // As if what must not be drawn were cut out.
        let share = if share < cut_out.start { share } else { share + (cut_out.end - cut_out.start) };
        let drawn = self.shares.owner_of(share, self.total);
        (drawn < self.slots.len()).then_some(drawn)
    }
}

fn weighted(members: &[(usize, u32)], total: u64) -> Shares {
    let mut sum = 0;
    let cumulative = members.iter().map(|(_, weight)| {
        sum += u64::from(*weight);
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
    /// What the server at this index has.
    fn of(&self, index: usize) -> Range<u64> {
        match self {
            Self::Equal(weight) => index as u64 * weight..(index as u64 + 1) * weight,
            Self::Weighted { cumulative, .. } => {
                index.checked_sub(1).map_or(0, |before| cumulative[before])..cumulative[index]
            }
        }
    }

    /// The index of the server that has this share of the total.
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

    fn owners(weights: &[u32]) -> Vec<usize> {
        let members: Vec<(usize, u32)> = weights.iter().copied().enumerate().collect();
        let draw = WeightedDraw::new(&members);
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
            let members: Vec<(usize, u32)> = weights.iter().copied().enumerate().collect();
            let draw = WeightedDraw::new(&members);
            for (index, weight) in weights.iter().enumerate() {
                let range = draw.shares.of(index);
                assert_eq!(range.end - range.start, u64::from(*weight));
                assert!(range.clone().all(|share| draw.shares.owner_of(share, draw.total) == index));
            }
        }
    }

    #[test]
    fn nobody_is_drawn_of_nobody() {
        assert_eq!(WeightedDraw::new(&[]).draw(mix(1), None), None);
    }
}
