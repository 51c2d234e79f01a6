//! The least loaded server of many, known at any moment: a tournament tree of keys, shared by all workers.
//!
//! Each leaf is a server's key; each entry above the smallest key below it. Whoever changes a server's load brings its leaf up to date,
//! then the tree. While several workers are at it, a pick may follow an entry that is a moment old; it searches on by the leaves it finds.

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

/// Keys of all servers that may be chosen, and the way to the smallest.
#[derive(Debug)]
pub(crate) struct Tournament {
    rule: KeyRule,
    /// By slot, the roster's own: of ten thousand servers a second copy would be so much more for the caches to hold. Who takes part is
    /// told by the leaves.
    candidates: Arc<[Option<Candidate>]>,
    tree: Tree,
    /// Kept with the keys, where the algorithm draws among those with room.
    open_weights: Option<Arc<OpenWeights>>,
}

/// A server's key, smaller is better: busy (1 bit), then its rule's key and what decides between equals: the turn it was
/// last chosen at (31 and 32 bits), or the server's rank (43 and 20 bits) where the rule takes no turns.
type Key = u64;

const NEVER: Key = u64::MAX;
const BUSY: Key = 1 << 63;
const LOAD_MAX: u64 = (1 << 31) - 2;
const TURN_MASK: Key = u32::MAX as u64;
const RANK_BITS: u32 = 20;

impl Tournament {
    /// Those of `candidates` (by slot) take part whose slots are `members`; the turns of those who did before are taken over.
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

    /// These are brought up to date whenever keys are.
    pub(crate) fn with_open_weights(self, open_weights: Option<Arc<OpenWeights>>) -> Self {
        Self { open_weights, ..self }
    }

    /// The smallest key's slot among those not in `exclude`; None if all of them are busy.
    pub(crate) fn pick(&self, exclude: &[usize]) -> Option<usize> {
        self.best_below(0, 0, exclude, BUSY).map(|(_, slot)| slot)
    }

    /// Brings the key of `slot` up to date with its load, if `load` is what this tournament knows there: a slot may
    /// have been given to another server since. With `turns` the server has just been chosen.
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

    /// Brings every key up to date with its load.
    pub(crate) fn refresh_all(&self, moment: Moment) {
        for slot in 0..self.slots() {
            self.refresh_one(slot, moment);
        }
    }

    /// Brings one key up to date, whoever has it. Returns whether it is larger than before.
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

    /// Whether keys change while nothing happens at their servers.
    pub(crate) fn goes_by_time(&self) -> bool {
        self.rule.goes_by_time()
    }

    /// Slots, free ones included.
    pub(crate) fn slots(&self) -> usize {
        self.candidates.len()
    }

    /// The server in `slot`, if it takes part: the leaf of one that does never says otherwise.
    fn entrant(&self, slot: usize) -> Option<&Candidate> {
        let candidate = self.candidates.get(slot)?.as_ref()?;
        (self.leaf(slot).load(SeqCst) != NEVER).then_some(candidate)
    }

    fn refresh_open_weights(&self, slot: usize, entrant: &Candidate) {
        if let Some(open_weights) = &self.open_weights {
            open_weights.refresh(slot, entrant);
        }
    }

    /// Returns whether the leaf was changed.
    fn settle_leaf(&self, slot: usize, entrant: &Candidate, turns: Option<&Turns>, moment: Moment) -> bool {
        let leaf = self.leaf(slot);
        if turns.is_some() {
            self.rule.chosen(&entrant.load, moment);
        }
        let mut chosen = turns.filter(|_| self.rule.takes_turns());
        let mut changed = false;
        loop {
            let old = leaf.load(SeqCst);
            // The turn is drawn after the old key was read: should the turns begin anew in between, the old key is
            // overwritten, the exchange fails, and a number of the old count cannot slip into the new one.
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

    /// The turns' count has come round (every four billion requests): all are equal again, once.
    fn forget_turns(&self) {
        for slot in 0..self.slots() {
            if self.entrant(slot).is_some() {
                let _ = self.leaf(slot).fetch_update(SeqCst, SeqCst, |key| Some((key & !TURN_MASK) | 1));
            }
        }
        self.tree.settle_all(smallest);
    }

    /// The smallest key below `limit` in the subtree of one line, by the leaves' own keys.
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
        // One less than there is room for, so that no key can be `NEVER`.
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
