//! Earliest deadline first: Envoy's weighted schedule (edf_scheduler.h), for weights that differ from pick to pick, or from server to
//! server.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::mix::nth;

/// One worker's schedule. Each pick takes the server with the earliest deadline, the one entered first of equals, and
/// enters it again, due 1/weight later by the weight that it has then.
#[derive(Debug, Default)]
pub(crate) struct Edf {
    entries: BinaryHeap<Entry>,
    now: f64,
    entered: u64,
}

#[derive(Debug)]
struct Entry {
    deadline: f64,
    order: u64,
    slot: usize,
}

/// Picks that may be passed over before the search for an open server is left to others.
const STEPS_MAX: usize = 16;

impl Edf {
    /// Begins anew with `slots`, at the schedule's beginning.
    pub(crate) fn start(&mut self, slots: &[usize], weight: impl Fn(usize) -> f64) {
        self.start_at(slots, |slot| 1.0 / weight(slot));
    }

    /// Begins anew with `slots`, each of them anywhere between two of its turns, as `random` has it.
    pub(crate) fn start_spread(&mut self, slots: &[usize], random: u64, weight: impl Fn(usize) -> f64) {
        const MANTISSA_BITS: u32 = 53;
        let part = |slot: usize| {
            (nth(random, slot as u64) >> (u64::BITS - MANTISSA_BITS)) as f64 / (1_u64 << MANTISSA_BITS) as f64
        };
        self.start_at(slots, |slot| part(slot) / weight(slot));
    }

    fn start_at(&mut self, slots: &[usize], deadline: impl Fn(usize) -> f64) {
        self.now = 0.0;
        self.entered = slots.len() as u64;
        let mut entries = std::mem::take(&mut self.entries).into_vec();
        entries.clear();
        let first = |(order, slot): (usize, &usize)| Entry {
            deadline: deadline(*slot),
            order: order as u64,
            slot: *slot,
        };
        entries.extend(slots.iter().enumerate().map(first));
        // At once, not one by one: O(n).
        self.entries = entries.into();
    }

    /// The next server that is open; those on the way lose their turn. None if there were too many of those.
    pub(crate) fn pick(
        &mut self,
        is_open: impl Fn(usize) -> bool,
        weight: impl Fn(usize) -> f64,
    ) -> Option<usize> {
        (0..STEPS_MAX).map_while(|_| self.step(&weight)).find(|slot| is_open(*slot))
    }

    fn step(&mut self, weight: impl Fn(usize) -> f64) -> Option<usize> {
        let Entry { deadline, slot, .. } = self.entries.pop()?;
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
    /// The earliest is the greatest, as the heap has it.
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
