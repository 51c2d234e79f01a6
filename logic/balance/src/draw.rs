use crate::Candidate;
use crate::mix::{below, nth};

/// Draws servers at random by weight, a few at a time, and keeps the best of them.
#[derive(Debug)]
pub(crate) struct WeightedDraw {
    slots: Box<[usize]>,
    /// For each slot, the sum of the weights up to and with its own.
    cumulative: Box<[u64]>,
    total: u64,
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
        let mut total = 0;
        let cumulative = members.iter().map(|(_, weight)| {
            total += u64::from(*weight);
            total
        });
        let cumulative = cumulative.collect();
        Self { slots: members.iter().map(|(slot, _)| *slot).collect(), cumulative, total }
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
            let mut best: Option<&Candidate> = None;
            let mut last = None;
            for _ in 0..draw.draws {
                let drawn = self.draw(randoms.next()?, last.filter(|_| draw.distinct))?;
                last = Some(drawn);
                let slot = self.slots[drawn];
                let Some(one) = Some(slot).filter(|slot| is_open(*slot)).and_then(&candidate) else {
                    continue;
                };
                if best.is_none_or(|best| is_better(one, best)) {
                    best = Some(one);
                }
            }
            if let Some(best) = best {
                return Some(best.slot);
            }
        }
        None
    }

    /// Which of the slots is drawn; another than `not`, unless there is no other.
    fn draw(&self, random: u64, not: Option<usize>) -> Option<usize> {
        let (start, end) = match not.filter(|_| self.slots.len() > 1) {
            Some(not) => (self.start_of(not), self.cumulative[not]),
            None => (self.total, self.total),
        };
        let share = below(random, self.total - (end - start));
        // As if what must not be drawn were cut out.
        let share = if share < start { share } else { share + (end - start) };
        let drawn = self.cumulative.partition_point(|sum| *sum <= share);
        (drawn < self.slots.len()).then_some(drawn)
    }

    fn start_of(&self, index: usize) -> u64 {
        index.checked_sub(1).map_or(0, |before| self.cumulative[before])
    }
}
