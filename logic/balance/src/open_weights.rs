#[cfg(test)]
mod tests;

use std::sync::atomic::Ordering::SeqCst;

use crate::Candidate;
use crate::mix::below;
use crate::tree::{Entries, FAN_OUT, Tree, settle};

/// The weights of the servers with room in the pool's order, and their sums: one of them is drawn by weight at one look for each level
/// of a tree, however few they are of however many.
#[derive(Debug)]
pub(crate) struct OpenWeights {
    /// Slots and weights.
    members: Box<[(usize, u32)]>,
    /// By slot, one more than its place among the members; 0 = it is none of them.
    places: Box<[u32]>,
    /// By place the weight, or 0 of one without room; above them their sums.
    tree: Tree,
}

impl OpenWeights {
    /// From slots and weights above 0, in the pool's order. All have room until [`OpenWeights::refresh`] says otherwise.
    pub(crate) fn new(members: &[(usize, u32)]) -> Self {
        let slots = members.iter().map(|(slot, _)| slot + 1).max().unwrap_or(0);
        let mut places = vec![0; slots];
        let tree = Tree::new(members.len(), 0);
        for (place, (slot, weight)) in members.iter().enumerate() {
            places[*slot] = place as u32 + 1;
            tree.leaf(place).store(u64::from(*weight), SeqCst);
        }
        tree.settle_all(sum);
        Self { members: members.into(), places: places.into(), tree }
    }

    /// The server in `slot` is `candidate`, whose requests or limit may have changed.
    pub(crate) fn refresh(&self, slot: usize, candidate: &Candidate) {
        let Some(place) = self.place(slot) else { return };
        let weight = || if candidate.has_room() { u64::from(self.members[place].1) } else { 0 };
        if settle(self.tree.leaf(place), weight) {
            self.tree.settle_above(place, sum);
        }
    }

    /// As the kernel draws one: `random` becomes a number from 0 to the sum of all weights, both included, and these weights are taken
    /// off it in the pool's order until nothing is left. None if nobody outside `exclude` has room, or if that changes at this moment.
    pub(crate) fn draw(&self, random: u64, exclude: &[usize]) -> Option<usize> {
        let total = sum(&self.line(0, 0, exclude)?);
        if total == 0 {
            return None;
        }
        // 0 leaves nothing already before the first.
        let mut rest = below(random, total + 1).saturating_sub(1);
        let mut at = 0;
        for level in 0..self.tree.levels() {
            let entries = self.line(level, at, exclude)?;
            let is_in = |weight: &u64| {
                let is_in = rest < *weight;
                rest -= if is_in { 0 } else { *weight };
                is_in
            };
            at = at * FAN_OUT + entries.iter().position(is_in)?;
        }
        self.members.get(at).map(|(slot, _)| *slot)
    }

    /// The entries of a line, as if who is in `exclude` had no room.
    fn line(&self, level: usize, line: usize, exclude: &[usize]) -> Option<Entries> {
        let mut entries = self.tree.line(level, line)?;
        let below = FAN_OUT.pow((self.tree.levels() - 1 - level) as u32);
        for (index, slot) in exclude.iter().enumerate() {
            if let Some(place) = self.place(*slot)
                && place / below / FAN_OUT == line
                && !exclude[..index].contains(slot)
            {
                let entry = &mut entries[place / below % FAN_OUT];
                *entry = entry.saturating_sub(self.tree.leaf(place).load(SeqCst));
            }
        }
        Some(entries)
    }

    fn place(&self, slot: usize) -> Option<usize> {
        self.places.get(slot)?.checked_sub(1).map(|place| place as usize)
    }
}

fn sum(entries: &Entries) -> u64 {
    entries.iter().sum()
}
