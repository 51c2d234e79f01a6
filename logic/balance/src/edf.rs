//! Earliest deadline first: Envoy's weighted schedule (edf_scheduler.h), for weights that change from pick to
//! pick or are all different.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::iter;

use crate::mix::{below, mix, nth};

/// Initial orders of the servers, by their first turns. They are made with the roster and shared by all
/// workers, so that starting costs a worker the same whatever the number of servers.
#[derive(Debug)]
pub(crate) struct Beginnings {
    /// Envoy's own order first, then randomly spread ones.
    orders: Box<[Box<[Entry]>]>,
}

/// One worker's schedule. Each pick takes the server with the earliest deadline; of equals, the one entered
/// first. It enters the server again, due 1/weight later, by the weight at that moment.
#[derive(Debug, Default)]
pub(crate) struct Edf {
    /// Index of its initial order.
    order: usize,
    /// Number of servers in that order that have had their first turn.
    begun: usize,
    /// Servers that have had a turn.
    entries: BinaryHeap<Entry>,
    now: f64,
    entered: u64,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    deadline: f64,
    order: u64,
    slot: usize,
}

/// Picks that may be skipped before the pick gives up.
const STEPS_MAX: usize = 16;

/// Number of different initial orders for workers, so that they do not go in step.
const SPREAD: usize = 8;

/// Most turns by which workers with the same initial order start apart.
const LEAD_MAX: u64 = 32;

impl Beginnings {
    /// Creates the initial orders of servers with these weights. `number` differs from that of the pool's
    /// earlier rosters, so that the same server is not late in each roster.
    pub(crate) fn new(slots: &[usize], number: u64, weight: impl Fn(usize) -> f64) -> Self {
        let sorted = |deadline: &dyn Fn(usize) -> f64| -> Box<[Entry]> {
            let entry = |(order, slot): (usize, &usize)| Entry {
                deadline: deadline(*slot),
                order: order as u64,
                slot: *slot,
            };
            let mut entries: Vec<Entry> = slots.iter().enumerate().map(entry).collect();
            // The entry with the earliest deadline is the greatest.
            entries.sort_unstable_by(|one, other| other.cmp(one));
            entries.into()
        };
        let seeds = (0..SPREAD as u64).map(|order| nth(mix(number), order));
        // Each server starts anywhere between two of its turns.
        let spread = seeds.map(|seed| sorted(&|slot: usize| part(nth(seed, slot as u64)) / weight(slot)));
        let first = sorted(&|slot: usize| 1.0 / weight(slot));
        Self { orders: iter::once(first).chain(spread).collect() }
    }
}

/// Maps `random` to a number from 0 to below 1.
fn part(random: u64) -> f64 {
    const MANTISSA_BITS: u32 = 53;
    (random >> (u64::BITS - MANTISSA_BITS)) as f64 / (1_u64 << MANTISSA_BITS) as f64
}

impl Edf {
    /// Starts over with an initial order: Envoy's own if `random` is 0, else one of the spread ones.
    pub(crate) fn start(&mut self, beginnings: &Beginnings, random: u64, weight: impl Fn(usize) -> f64) {
        self.order = if random == 0 { 0 } else { 1 + below(random, SPREAD as u64) as usize };
        let servers = beginnings.orders.first().map_or(0, |order| order.len());
        (self.now, self.begun, self.entered) = (0.0, 0, servers as u64);
        self.entries.clear();
        // Reserves room for all turns at once; allocates only if there are more servers than before.
        self.entries.reserve(servers);
        for _ in 0..below(random.rotate_left(32), LEAD_MAX) {
            self.step(beginnings, &weight);
        }
    }

    /// Returns the next open server; others on the way lose their turn. `None` = too many were not open.
    pub(crate) fn pick(
        &mut self,
        beginnings: &Beginnings,
        is_open: impl Fn(usize) -> bool,
        weight: impl Fn(usize) -> f64,
    ) -> Option<usize> {
        (0..STEPS_MAX).map_while(|_| self.step(beginnings, &weight)).find(|slot| is_open(*slot))
    }

    fn step(&mut self, beginnings: &Beginnings, weight: impl Fn(usize) -> f64) -> Option<usize> {
        let first = beginnings.orders.get(self.order).and_then(|order| order.get(self.begun)).copied();
        let again = self.entries.peek();
        let first = first.filter(|first| again.is_none_or(|again| first > again));
        let Entry { deadline, slot, .. } = match first {
            Some(first) => {
                self.begun += 1;
                first
            }
            None => self.entries.pop()?,
        };
        self.now = deadline;
        self.enter(slot, weight(slot));
        Some(slot)
    }

    fn enter(&mut self, slot: usize, weight: f64) {
        self.entries.push(Entry { deadline: self.now + 1.0 / weight, order: self.entered, slot });
        self.entered += 1;
    }
}

impl Ord for Entry {
    /// Compares so that the earliest deadline is the greatest, as the heap needs it.
    fn cmp(&self, other: &Self) -> Ordering {
        other.deadline.total_cmp(&self.deadline).then(other.order.cmp(&self.order))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Entry {}

#[cfg(test)]
mod tests {
    use super::*;

    const WEIGHTS: [f64; 5] = [1.0, 7.0, 2.5, 30.0, 4.0];

    fn weight(slot: usize) -> f64 {
        WEIGHTS[slot]
    }

    /// Returns the number of turns of each server after `picks` picks.
    fn turns(random: u64, number: u64, picks: usize) -> [usize; 5] {
        let beginnings = Beginnings::new(&[0, 1, 2, 3, 4], number, weight);
        let mut edf = Edf::default();
        edf.start(&beginnings, random, weight);
        let mut turns = [0; 5];
        (0..picks).filter_map(|_| edf.pick(&beginnings, |_| true, weight)).for_each(|slot| turns[slot] += 1);
        turns
    }

    #[test]
    fn from_every_beginning_each_server_gets_its_share() {
        for random in [0, 1, u64::MAX / 3, u64::MAX] {
            for (got, weight) in turns(random, 5, 8_900).into_iter().zip(WEIGHTS) {
                assert!((got as f64 - 200.0 * weight).abs() <= 5.0, "{random}: {got} for {weight}");
            }
        }
    }

    #[test]
    fn beginnings_differ_between_workers_and_between_rosters() {
        let first = |random: u64, number| {
            let beginnings = Beginnings::new(&[0, 1, 2, 3, 4], number, |_| 1.0);
            let mut edf = Edf::default();
            edf.start(&beginnings, random, |_| 1.0);
            (0..5).filter_map(|_| edf.pick(&beginnings, |_| true, |_| 1.0)).collect::<Vec<_>>()
        };
        assert_eq!(first(0, 0), [0, 1, 2, 3, 4], "Envoy's own");
        let differ = |turns: Vec<Vec<usize>>| turns.iter().any(|one| *one != turns[0]);
        assert!(differ((0..8).map(|worker| first((worker << 61) + 1, 0)).collect()));
        assert!(differ((0..8).map(|number| first(1, number)).collect()));
    }
}
