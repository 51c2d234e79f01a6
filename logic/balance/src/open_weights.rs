//! A weighted random draw among only the servers that have room.

#[cfg(test)]
mod tests;

use std::sync::atomic::Ordering::SeqCst;

use crate::Candidate;
use crate::mix::below;
use crate::tree::{Entries, FAN_OUT, Tree, settle};

/// Weights of the servers with room, in the pool's order, and their sums in a tree.
///
/// A draw by weight reads one node for each level of the tree, however few servers have room.
#[derive(Debug)]
pub(crate) struct OpenWeights {
    /// Slots and weights of the members.
    members: Box<[(usize, u32)]>,
    /// Index among the members plus one, by slot; 0 = not a member.
    places: Box<[u32]>,
    /// Leaves: the weight by index, or 0 for a server without room. Above them: their sums.
    tree: Tree,
}

impl OpenWeights {
    /// Creates the tree from slots and weights above 0, in the pool's order. All have room until
    /// [`OpenWeights::refresh`] says otherwise.
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

    /// Updates the weight of the server in `slot` after its requests or its limit may have changed.
    pub(crate) fn refresh(&self, slot: usize, candidate: &Candidate) {
        let Some(place) = self.place(slot) else { return };
        let weight = || if candidate.has_room() { u64::from(self.members[place].1) } else { 0 };
        if settle(self.tree.leaf(place), weight) {
            self.tree.settle_above(place, sum);
        }
    }

    /// Draws a server as the kernel does. Returns `None` if no server outside `exclude` has room, or if that
    /// changes at this moment.
    ///
    /// `random` becomes a number from 0 to the sum of all weights, both included. The weights are subtracted
    /// from it in the pool's order until nothing is left.
    pub(crate) fn draw(&self, random: u64, exclude: &[usize]) -> Option<usize> {
        let total = sum(&self.line(0, 0, exclude)?);
        if total == 0 {
            return None;
        }
        // The number 0 leaves nothing even before the first weight, so it draws the first server.
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

    /// Returns the entries of a tree node, as if the servers in `exclude` had no room.
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
