//! The least loaded server of many: a tournament tree of keys, shared by all workers.
//!
//! Each leaf is a server's key; each entry above it is the smallest key below. A worker that changes a
//! server's load updates its leaf and then the tree. While several workers update the tree, a pick may follow
//! an entry that is briefly out of date; then it continues the search with the leaves it finds.

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use crate::hub::Turns;
use crate::key_rule::KeyRule;
use crate::measure::Moment;
use crate::open_weights::OpenWeights;
use crate::tree::{Entries, FAN_OUT, Tree};
use crate::{Candidate, ServerLoad};

/// Keys of all servers that may be chosen, and the tree that finds the smallest.
#[derive(Debug)]
pub(crate) struct Tournament {
    rule: KeyRule,
    /// The roster's candidates, by slot. Shared, because a second copy of ten thousand servers would fill the
    /// caches. The leaves say which of them take part.
    candidates: Arc<[Option<Candidate>]>,
    tree: Tree,
    /// Weights of servers with room, updated with the keys, if the algorithm draws only among those.
    open_weights: Option<Arc<OpenWeights>>,
}

/// A server's key; smaller is better. The highest bit means busy, then follows its rule's key, then a
/// tie-breaker.
///
/// With turns, the key has 31 bits and the turn at which the server was last chosen has 32 bits. Otherwise
/// the key has 43 bits and the server's rank 20 bits.
type Key = u64;

const NEVER: Key = u64::MAX;
const BUSY: Key = 1 << 63;
const LOAD_MAX: u64 = (1 << 31) - 2;
const TURN_MASK: Key = u32::MAX as u64;
const RANK_BITS: u32 = 20;

impl Tournament {
    /// Creates the tournament. The `candidates` (by slot) whose slots are in `members` take part. It keeps
    /// the turns of servers that took part before.
    pub(crate) fn new(
        rule: KeyRule,
        candidates: Arc<[Option<Candidate>]>,
        members: &[usize],
        previous: Option<&Self>,
        moment: Moment,
    ) -> Self {
        let tree = Tree::new(candidates.len(), NEVER);
        let tournament = Self { rule, candidates, tree, open_weights: None };
        for slot in members.iter().copied() {
            if let Some(Some(entrant)) = tournament.candidates.get(slot) {
                let turn = previous.and_then(|previous| previous.turn(slot, &entrant.load)).unwrap_or(0);
                tournament.leaf(slot).store(key(rule, entrant, turn, moment), SeqCst);
            }
        }
        tournament.tree.settle_all(smallest);
        tournament
    }

    /// Adds the weights that are updated whenever keys are.
    pub(crate) fn with_open_weights(self, open_weights: Option<Arc<OpenWeights>>) -> Self {
        Self { open_weights, ..self }
    }

    /// Returns the slot with the smallest key outside `exclude`; `None` = all of them are busy.
    pub(crate) fn pick(&self, exclude: &[usize]) -> Option<usize> {
        self.best_below(0, 0, exclude, BUSY).map(|(_, slot)| slot)
    }

    /// Updates the key of `slot` from its load, if `load` belongs to the server known there. The slot may
    /// have been given to another server since. `turns` is present if the server has just been chosen.
    pub(crate) fn refresh(&self, slot: usize, load: &Arc<ServerLoad>, turns: Option<&Turns>, moment: Moment) {
        let Some(entrant) = self.entrant(slot) else { return };
        if !Arc::ptr_eq(&entrant.load, load) {
            return;
        }
        self.refresh_open_weights(slot, entrant);
        if self.settle_leaf(slot, entrant, turns, moment) {
            self.tree.settle_above(slot, smallest);
        }
    }

    /// Updates every key from its load.
    pub(crate) fn refresh_all(&self, moment: Moment) {
        for slot in 0..self.slots() {
            self.refresh_one(slot, moment);
        }
    }

    /// Updates the key of whichever server is in `slot`. Returns true if the key became larger.
    pub(crate) fn refresh_one(&self, slot: usize, moment: Moment) -> bool {
        let Some(entrant) = self.entrant(slot) else { return false };
        self.refresh_open_weights(slot, entrant);
        let before = self.leaf(slot).load(SeqCst);
        if !self.settle_leaf(slot, entrant, None, moment) {
            return false;
        }
        self.tree.settle_above(slot, smallest);
        self.leaf(slot).load(SeqCst) > before
    }

    /// Returns true if keys change with time alone.
    pub(crate) fn goes_by_time(&self) -> bool {
        self.rule.goes_by_time()
    }

    /// Returns the number of slots, free ones included.
    pub(crate) fn slots(&self) -> usize {
        self.candidates.len()
    }

    /// Returns the server in `slot` if it takes part. The leaf of a server that takes part never has the
    /// value `NEVER`.
    fn entrant(&self, slot: usize) -> Option<&Candidate> {
        let candidate = self.candidates.get(slot)?.as_ref()?;
        (self.leaf(slot).load(SeqCst) != NEVER).then_some(candidate)
    }

    fn refresh_open_weights(&self, slot: usize, entrant: &Candidate) {
        if let Some(open_weights) = &self.open_weights {
            open_weights.refresh(slot, entrant);
        }
    }

    /// Updates the leaf. Returns true if it changed.
    fn settle_leaf(&self, slot: usize, entrant: &Candidate, turns: Option<&Turns>, moment: Moment) -> bool {
        let leaf = self.leaf(slot);
        if turns.is_some() {
            self.rule.chosen(&entrant.load, moment);
        }
        let mut chosen = turns.filter(|_| self.rule.takes_turns());
        let mut changed = false;
        loop {
            let old = leaf.load(SeqCst);
            // The turn is drawn after reading the old key. If the turns wrap around in between, the old key
            // is overwritten and the exchange fails. So a number from before the wrap cannot get in after it.
            let turn = chosen.map_or(old & TURN_MASK, |turns| u64::from(turns.next()));
            if chosen.is_some() && turn == 0 {
                self.forget_turns();
                continue;
            }
            let new = key(self.rule, entrant, turn, moment);
            if old == new {
                return changed;
            }
            if leaf.compare_exchange(old, new, SeqCst, SeqCst).is_ok() {
                changed = true;
                chosen = None;
            }
        }
    }

    /// Resets the turns when their counter has wrapped, every four billion requests: all servers are equal
    /// once.
    fn forget_turns(&self) {
        for slot in 0..self.slots() {
            if self.entrant(slot).is_some() {
                let _ = self.leaf(slot).fetch_update(SeqCst, SeqCst, |key| Some((key & !TURN_MASK) | 1));
            }
        }
        self.tree.settle_all(smallest);
    }

    /// Returns the smallest key below `limit` in the subtree of one line, using the leaves' own keys.
    fn best_below(&self, depth: usize, line: usize, exclude: &[usize], limit: Key) -> Option<(Key, usize)> {
        let mut entries = self.tree.line(depth, line)?;
        let mut best: Option<(Key, usize)> = None;
        loop {
            let bound = best.map_or(limit, |(key, _)| key);
            let (index, key) = smallest_of(&entries);
            if key >= bound {
                return best;
            }
            entries[index] = NEVER;
            let below = line * FAN_OUT + index;
            if depth + 1 < self.tree.levels() {
                best = self.best_below(depth + 1, below, exclude, bound).or(best);
            } else if !exclude.contains(&below) {
                best = Some((key, below));
            }
        }
    }

    fn turn(&self, slot: usize, load: &Arc<ServerLoad>) -> Option<u64> {
        let entrant = self.entrant(slot).filter(|_| self.rule.takes_turns())?;
        Arc::ptr_eq(&entrant.load, load).then(|| self.leaf(slot).load(SeqCst) & TURN_MASK)
    }

    fn leaf(&self, slot: usize) -> &AtomicU64 {
        self.tree.leaf(slot)
    }
}

fn key(rule: KeyRule, entrant: &Candidate, turn: u64, moment: Moment) -> Key {
    let active = entrant.load.active();
    let load = rule.key(entrant, active, moment);
    let busy = if active >= entrant.max() { BUSY } else { 0 };
    if rule.takes_turns() {
        busy | load.min(LOAD_MAX) << 32 | turn
    } else {
        // One less than the largest value, so that no key can be `NEVER`.
        busy | load << RANK_BITS | u64::from(entrant.rank).min((1 << RANK_BITS) - 2)
    }
}

fn smallest(entries: &Entries) -> Key {
    smallest_of(entries).1
}

fn smallest_of(entries: &Entries) -> (usize, Key) {
    let mut best = (0, entries[0]);
    for (index, key) in entries.iter().enumerate().skip(1) {
        if *key < best.1 {
            best = (index, *key);
        }
    }
    best
}
