use crate::Candidate;
use crate::mix::{below, nth};

/// Draws servers at random by weight, two at a time, and keeps the less loaded: few active requests for its weight.
///
/// HAProxy's `random(2)`, except that the draws come from the weights themselves rather than from a consistent ring,
/// and that of two equally loaded servers the first drawn wins rather than the one with the lower request rate. Both
/// draws may give the same server, as there.
#[derive(Debug)]
pub(crate) struct WeightedDraw {
    slots: Box<[usize]>,
    /// For each slot, the sum of the weights up to and with its own.
    cumulative: Box<[u64]>,
    total: u64,
}

/// Pairs drawn before the search for an open server is left to others.
const PAIRS_MAX: u64 = 8;

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

    /// None if no draw gave an open server.
    pub(crate) fn pick<'a>(
        &self,
        random: u64,
        is_open: impl Fn(usize) -> bool,
        candidate: impl Fn(usize) -> Option<&'a Candidate>,
    ) -> Option<usize> {
        for pair in 0..PAIRS_MAX {
            let first = self.draw(nth(random, 2 * pair))?;
            let second = self.draw(nth(random, 2 * pair + 1))?;
            match (is_open(first), is_open(second)) {
                (true, true) if first == second => return Some(first),
                (true, true) => {
                    let second_wins = is_less_loaded(candidate(second)?, candidate(first)?);
                    return Some(if second_wins { second } else { first });
                }
                (true, false) => return Some(first),
                (false, true) => return Some(second),
                (false, false) => {}
            }
        }
        None
    }

    fn draw(&self, random: u64) -> Option<usize> {
        let share = below(random, self.total);
        self.slots.get(self.cumulative.partition_point(|sum| *sum <= share)).copied()
    }
}

/// Compares active / weight, crosswise so that nothing is rounded.
fn is_less_loaded(a: &Candidate, b: &Candidate) -> bool {
    let crosswise =
        |load: &Candidate, other: &Candidate| u64::from(load.load.active()) * u64::from(other.weight.get());
    crosswise(a, b) < crosswise(b, a)
}
