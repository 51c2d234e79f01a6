//! Smooth weighted round robin: NGINX's sequence, without visiting every server.
//!
//! NGINX (ngx_http_upstream_round_robin.c) adds each server's weight to its counter, picks the highest
//! counter (the first of equals), and subtracts the total of all weights from it. So servers of equal weight
//! are picked in turn and never differ by more than one pick. One counter for each *weight* is therefore
//! enough: `rounds * weight - times through the class * total`. A pick visits each different weight once.
//!
//! Weights are at most 256, so there are few different ones. With fractions of weights (slow start, agents,
//! zones) there may be as many as servers; NGINX has no such case. Then each server is due again 1 / weight
//! after its last turn, and the one that is due first is next.

use std::sync::Arc;

use crate::edf::{Beginnings, Edf};
use crate::mix::below;

/// Servers grouped by weight.
#[derive(Debug)]
pub(crate) enum Classes {
    /// At most 256 different weights: each pick visits all of them.
    Few(Arc<Table>),
    /// More different weights: each pick takes the server that is due first.
    Many(Arc<Many>),
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Table {
    /// Weight of each class. Kept apart from the slots, so that a pick reads few cache lines.
    weights: Box<[i64]>,
    classes: Box<[Class]>,
    total: i64,
}

#[derive(Debug)]
pub(crate) struct Many {
    slots: Box<[usize]>,
    /// Weight of each slot.
    weights: Box<[u32]>,
    beginnings: Beginnings,
}

/// Slots of servers of one weight, ascending, never empty.
#[derive(Debug, PartialEq, Eq)]
struct Class(Box<[usize]>);

/// One worker's position in the sequence.
#[derive(Debug, Default)]
pub(crate) struct RoundRobin {
    table: Option<Arc<Table>>,
    /// By class: NGINX's counter of the next server in it.
    values: Vec<i64>,
    places: Vec<Place>,
    /// Slot at which the sequence starts counting servers.
    first: usize,
    last_picked: Option<usize>,
    many: Option<Arc<Many>>,
    edf: Edf,
}

/// Indices into a class.
#[derive(Debug)]
struct Place {
    start: usize,
    next: usize,
}

/// Number of different whole weights.
const FEW_MAX: usize = weir_model::Weight::MAX.get() as usize;

/// Sequence steps that one pick may take to skip busy and excluded servers.
const STEPS_MAX: usize = 16;

/// Most steps into the sequence at which a worker may start; each costs one computation.
const LEAD_MAX: u64 = 256;

impl Classes {
    /// Groups slots and weights above 0, ascending by slot. `number` is the roster's number in its pool.
    pub(crate) fn new(members: &[(usize, u32)], number: u64) -> Self {
        let mut sorted = members.to_vec();
        sorted.sort_by_key(|(_, weight)| *weight);
        let classes = || sorted.chunk_by(|a, b| a.1 == b.1);
        if classes().nth(FEW_MAX).is_some() {
            return Self::Many(Arc::new(Many::new(members, number)));
        }
        let weights = classes().map(|class| i64::from(class[0].1)).collect();
        let total = sorted.iter().map(|(_, weight)| i64::from(*weight)).sum();
        let classes = classes().map(|class| Class(class.iter().map(|(slot, _)| *slot).collect())).collect();
        Self::Few(Arc::new(Table { weights, classes, total }))
    }
}

impl RoundRobin {
    /// Switches to `classes`. With the same servers and weights it continues at its position; else behind the
    /// server picked last.
    ///
    /// With several weights it then starts somewhere in the sequence, as `random` says. A sequence starts
    /// with the heaviest servers, so many changes would otherwise starve the others. `random` = 0 is the
    /// start of the sequence.
    pub(crate) fn turn_to(&mut self, classes: &Classes, random: u64) {
        match classes {
            Classes::Few(table) => {
                self.many = None;
                self.turn_to_few(table, random);
            }
            Classes::Many(many) => {
                self.table = None;
                if self.many.as_ref().is_none_or(|mine| mine != many) {
                    // Each server starts somewhere between two of its turns. So it gets its share however
                    // short the time is.
                    self.edf.start(&many.beginnings, random.max(1), |slot| many.weight(slot));
                    self.many = Some(Arc::clone(many));
                }
            }
        }
    }

    fn turn_to_few(&mut self, table: &Arc<Table>, random: u64) {
        if self.table.as_ref().is_some_and(|mine| mine == table) {
            return;
        }
        self.first = match self.last_picked {
            Some(slot) => slot + 1,
            None if random == 0 => 0,
            None => table.slot_at(below(random, table.total as u64)),
        };
        let first = self.first;
        let start = |class: &Class| class.0.partition_point(|slot| *slot < first) % class.0.len();
        let place = |class: &Class| Place { start: start(class), next: start(class) };
        self.places.clear();
        self.places.extend(table.classes.iter().map(place));
        self.values.clear();
        self.values.resize(table.classes.len(), 0);
        self.table = Some(Arc::clone(table));
        if table.classes.len() > 1 {
            for _ in 0..below(random.rotate_left(32), (table.total as u64).min(LEAD_MAX)) {
                self.step(table);
            }
        }
    }

    /// Returns the next open server in the sequence. Others on the way lose their turn. `None` = too many
    /// were not open.
    pub(crate) fn pick(&mut self, classes: &Classes, is_open: impl Fn(usize) -> bool) -> Option<usize> {
        let picked = match classes {
            Classes::Few(table) => {
                (0..STEPS_MAX).filter_map(|_| self.step(table)).find(|slot| is_open(*slot))
            }
            Classes::Many(many) => {
                // Two equal tables may exist; use the one that the turns were started with.
                let mine = self.many.as_ref().unwrap_or(many);
                self.edf.pick(&mine.beginnings, is_open, |slot| mine.weight(slot))
            }
        };
        self.last_picked = picked.or(self.last_picked);
        picked
    }

    fn step(&mut self, table: &Table) -> Option<usize> {
        let mut highest = i64::MIN;
        for (value, weight) in self.values.iter_mut().zip(&table.weights) {
            *value += weight;
            highest = highest.max(*value);
        }
        // Usually one class has the highest value. Of equals, the first in the sequence's own order is
        // picked.
        let turn = |class: usize| table.classes[class].0[self.places[class].next].wrapping_sub(self.first);
        let equals = self.values.iter().enumerate().filter(|(_, value)| **value == highest);
        let (turn, class) = equals.map(|(class, _)| (turn(class), class)).min()?;
        let place = &mut self.places[class];
        place.next = (place.next + 1) % table.classes[class].0.len();
        if place.next == place.start {
            self.values[class] -= table.total;
        }
        Some(turn.wrapping_add(self.first))
    }
}

impl Table {
    /// Returns a server's slot for each `share` of the total; each server covers as many shares as its weight
    /// says.
    fn slot_at(&self, share: u64) -> usize {
        let mut rest = share;
        for (Class(slots), weight) in self.classes.iter().zip(&self.weights) {
            let weight = *weight as u64;
            let of_class = weight * slots.len() as u64;
            if rest < of_class {
                return slots[(rest / weight) as usize];
            }
            rest -= of_class;
        }
        0
    }
}

impl Many {
    fn new(members: &[(usize, u32)], number: u64) -> Self {
        let places = members.iter().map(|(slot, _)| slot + 1).max().unwrap_or(0);
        let mut weights = vec![0; places];
        members.iter().for_each(|(slot, weight)| weights[*slot] = *weight);
        let slots: Box<[usize]> = members.iter().map(|(slot, _)| *slot).collect();
        let beginnings = Beginnings::new(&slots, number, |slot| weight_in(&weights, slot));
        Self { slots, weights: weights.into(), beginnings }
    }

    fn weight(&self, slot: usize) -> f64 {
        weight_in(&self.weights, slot)
    }
}

fn weight_in(weights: &[u32], slot: usize) -> f64 {
    weights.get(slot).copied().unwrap_or(1).into()
}

/// Compares without the beginnings, which do not matter.
impl PartialEq for Many {
    fn eq(&self, other: &Self) -> bool {
        self.slots == other.slots && self.weights == other.weights
    }
}

impl Eq for Many {}
