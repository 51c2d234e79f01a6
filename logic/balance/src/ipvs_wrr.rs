//! IPVS's weighted round robin (ip_vs_wrr.c). A threshold falls from the highest weight by the greatest
//! common divisor of all weights. In each pass, every server whose weight is at least the threshold is chosen
//! once.
//!
//! The kernel visits all servers in each pass. This code lists the servers of each threshold in advance, once
//! for each different weight, and a pick reads only the next one.

use std::sync::Arc;

use crate::gcd::gcd_of;
use crate::mix::below;

/// The servers at each threshold.
#[derive(Debug)]
pub(crate) struct Thresholds(Arc<Table>);

#[derive(Debug, PartialEq, Eq)]
struct Table {
    /// Tiers from the heaviest weight to the lightest.
    tiers: Box<[Tier]>,
    /// Amount by which the threshold falls.
    step: u32,
}

/// Servers whose weight is at least `weight`.
#[derive(Debug, PartialEq, Eq)]
struct Tier {
    weight: u32,
    /// Slots in the pool's order, never empty.
    slots: Box<[u32]>,
}

/// One worker's position in the sequence.
#[derive(Debug, Default)]
pub(crate) struct IpvsWrr {
    table: Option<Arc<Table>>,
    tier: usize,
    threshold: u32,
    next: usize,
    last_picked: Option<u32>,
}

/// Servers skipped in one pick before it gives up.
const PASSED_OVER_MAX: usize = 64;

impl Thresholds {
    /// Creates the tiers from slots and weights above 0, in the pool's order.
    pub(crate) fn new(members: &[(usize, u32)]) -> Self {
        let mut weights: Vec<u32> = members.iter().map(|(_, weight)| *weight).collect();
        let step = gcd_of(weights.iter().copied());
        weights.sort_unstable_by(|a, b| b.cmp(a));
        weights.dedup();
        let tier = |weight: u32| {
            let slots = members.iter().filter(|(_, own)| *own >= weight);
            Tier { weight, slots: slots.map(|(slot, _)| u32::try_from(*slot).unwrap_or(u32::MAX)).collect() }
        };
        Self(Arc::new(Table { tiers: weights.into_iter().map(tier).collect(), step }))
    }
}

impl IpvsWrr {
    /// Switches to another set of servers: continues at the current threshold, behind the server picked last.
    ///
    /// The kernel goes back to the first server (ip_vs_wrr_dest_changed); with many changes the last servers
    /// would starve. The first time, `random` selects the threshold, so that workers do not go in step; 0 =
    /// the highest.
    pub(crate) fn turn_to(&mut self, thresholds: &Thresholds, random: u64) {
        if self.table.as_ref().is_some_and(|mine| *mine == thresholds.0) {
            return;
        }
        let table = Arc::clone(&thresholds.0);
        let highest = table.tiers.first().map_or(0, |tier| tier.weight);
        let steps = u64::from(highest / table.step);
        let lowered = match self.table {
            None => below(random, steps) as u32,
            Some(_) => (highest.saturating_sub(self.threshold)).div_ceil(table.step),
        };
        self.threshold = highest.saturating_sub(lowered * table.step).max(table.step.min(highest));
        self.tier = table.tiers.partition_point(|tier| tier.weight >= self.threshold).saturating_sub(1);
        let place = |slot: u32| table.tiers.get(self.tier)?.slots.iter().position(|other| *other == slot);
        // With only one threshold, workers start at different servers instead.
        let first = match &*table.tiers {
            [only] => below(random.rotate_left(32), only.slots.len() as u64) as usize,
            _ => 0,
        };
        self.next = self.last_picked.and_then(place).map_or(first, |place| place + 1);
        self.table = Some(table);
    }

    /// Returns the next open server in the sequence; others on the way lose their turn.
    pub(crate) fn pick(&mut self, is_open: impl Fn(usize) -> bool) -> Option<usize> {
        let table = Arc::clone(self.table.as_ref()?);
        (0..PASSED_OVER_MAX).find_map(|_| self.step(&table).filter(|slot| is_open(*slot)))
    }

    fn step(&mut self, table: &Table) -> Option<usize> {
        let mut tier = table.tiers.get(self.tier)?;
        if self.next == tier.slots.len() {
            self.next = 0;
            self.lower(table);
            tier = table.tiers.get(self.tier)?;
        }
        let slot = tier.slots[self.next];
        self.next += 1;
        self.last_picked = Some(slot);
        Some(slot as usize)
    }

    /// Moves to the next threshold: one step down, or the highest weight again.
    fn lower(&mut self, table: &Table) {
        if self.threshold <= table.step {
            self.tier = 0;
            self.threshold = table.tiers.first().map_or(0, |tier| tier.weight);
            return;
        }
        self.threshold -= table.step;
        if table.tiers.get(self.tier + 1).is_some_and(|lighter| lighter.weight >= self.threshold) {
            self.tier += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Runs the kernel's loop (ip_vs_wrr_schedule) unchanged, with every server available.
    fn kernel(weights: &[u32], picks: usize) -> Vec<usize> {
        let di = gcd_of(weights.iter().copied());
        let mw = weights.iter().max().copied().unwrap_or(0) - (di - 1);
        let (mut cw, mut current) = (0_i64, None::<usize>);
        let mut picked = Vec::new();
        // "cw" starts at 0, so the first pass begins with the highest threshold.
        while picked.len() < picks {
            let from = current.map_or(0, |index| index + 1);
            match (from..weights.len()).find(|index| cw > 0 && i64::from(weights[*index]) >= cw) {
                Some(index) => {
                    current = Some(index);
                    picked.push(index);
                }
                None => {
                    current = None;
                    cw -= i64::from(di);
                    if cw <= 0 {
                        cw = i64::from(mw);
                    }
                }
            }
        }
        picked
    }

    fn ours(weights: &[u32], picks: usize) -> Vec<usize> {
        let members: Vec<_> = weights.iter().copied().enumerate().filter(|(_, weight)| *weight > 0).collect();
        let mut wrr = IpvsWrr::default();
        wrr.turn_to(&Thresholds::new(&members), 0);
        (0..picks).filter_map(|_| wrr.pick(|_| true)).collect()
    }

    #[test]
    fn four_three_and_two_come_in_the_order_of_the_kernels_documentation() {
        assert_eq!(ours(&[4, 3, 2], 9), [0, 0, 1, 0, 1, 2, 0, 1, 2]);
    }

    #[test]
    fn many_changes_of_the_servers_starve_nobody() {
        let mut wrr = IpvsWrr::default();
        let mut picked = [0; 3];
        for change in 0..300 {
            let weights = [(0, 9), (1, 1), (2, 1 + change % 2)];
            wrr.turn_to(&Thresholds::new(&weights), 0);
            for _ in 0..2 {
                picked[wrr.pick(|_| true).unwrap()] += 1;
            }
        }
        assert!(picked.iter().all(|times| *times >= 20), "{picked:?}");
    }

    #[test]
    fn workers_start_at_different_thresholds() {
        let thresholds = Thresholds::new(&[(0, 8), (1, 1)]);
        let first_light = |random: u64| {
            let mut wrr = IpvsWrr::default();
            wrr.turn_to(&thresholds, random);
            (0..9).position(|_| wrr.pick(|_| true) == Some(1)).unwrap()
        };
        assert_eq!(first_light(0), 8);
        assert_eq!(first_light(u64::MAX), 1);
    }

    #[test]
    fn workers_start_at_different_servers_of_equal_weights() {
        let thresholds = Thresholds::new(&[(0, 7), (1, 7), (2, 7)]);
        let picked = |random: u64| {
            let mut wrr = IpvsWrr::default();
            wrr.turn_to(&thresholds, random);
            (0..4).filter_map(|_| wrr.pick(|_| true)).collect::<Vec<_>>()
        };
        assert_eq!(picked(0), [0, 1, 2, 0]);
        assert_eq!(picked(u64::MAX), [2, 0, 1, 2]);
    }

    proptest! {
        #[test]
        fn the_sequence_is_the_kernels(
            weights in prop::collection::vec(0_u32..=20, 1..12).prop_filter("someone", |w| w.iter().any(|w| *w > 0)),
            factor in 1_u32..=5,
        ) {
            let weights: Vec<u32> = weights.iter().map(|weight| weight * factor).collect();
            prop_assert_eq!(ours(&weights, 300), kernel(&weights, 300));
        }
    }
}
