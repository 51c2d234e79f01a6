//! A tree of numbers that all workers share without locks. Each inner entry holds the result for the eight
//! entries below it: their minimum or their sum.
//!
//! Eight entries fill one cache line. With 10,000 leaves, a path from the root to a leaf has five lines. A
//! worker that changes a leaf updates the entries above it, until one needs no change.
//!
//! No change gets lost, for this reason. Workers write an entry by compare-and-swap. A worker that has
//! written an entry, or one below it, leaves only after it has seen the entry equal to the result of the
//! entries below; it reads the entry first. So the worker that makes the last write, to the entry or below
//! it, still sees all final values and would correct it. This needs sequentially consistent reads and writes
//! of the entries and of the data behind the leaves. While several workers update the tree, a reader may find
//! an entry that is briefly out of date.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// The leaves and the results above them.
#[derive(Debug)]
pub(crate) struct Tree {
    /// Levels from the root's only line to the leaves' lines.
    levels: Box<[Box<[Line]>]>,
}

pub(crate) const FAN_OUT: usize = 8;

/// Values read from one line.
pub(crate) type Entries = [u64; FAN_OUT];

#[derive(Debug)]
#[repr(align(64))]
struct Line([AtomicU64; FAN_OUT]);

impl Tree {
    /// Creates a tree in which every entry has `value`, which must also be the result of a line of such
    /// entries.
    pub(crate) fn new(leaves: usize, value: u64) -> Self {
        let lines = |count: usize| -> Box<[Line]> {
            (0..count).map(|_| Line(std::array::from_fn(|_| AtomicU64::new(value)))).collect()
        };
        let mut levels = vec![lines(leaves.div_ceil(FAN_OUT).max(1))];
        while let Some(below) = levels.last()
            && below.len() > 1
        {
            levels.push(lines(below.len().div_ceil(FAN_OUT)));
        }
        levels.reverse();
        Self { levels: levels.into() }
    }

    /// Returns the number of levels, from the root to the leaves.
    pub(crate) fn levels(&self) -> usize {
        self.levels.len()
    }

    pub(crate) fn leaf(&self, index: usize) -> &AtomicU64 {
        &self.levels[self.levels.len() - 1][index / FAN_OUT].0[index % FAN_OUT]
    }

    /// Returns the current entries of one line; `None` = there is no such line. The line below the entry at
    /// `index` of line `line` is `line * FAN_OUT + index`.
    pub(crate) fn line(&self, level: usize, line: usize) -> Option<Entries> {
        self.levels.get(level)?.get(line).map(Line::read)
    }

    /// Updates the entries above a changed leaf, as far up as something changes.
    pub(crate) fn settle_above(&self, leaf: usize, come_to: impl Fn(&Entries) -> u64) {
        let mut line = leaf / FAN_OUT;
        for level in (1..self.levels.len()).rev() {
            let below = || come_to(&self.levels[level][line].read());
            if !settle(&self.levels[level - 1][line / FAN_OUT].0[line % FAN_OUT], below) {
                return;
            }
            line /= FAN_OUT;
        }
    }

    /// Updates all entries from the leaves.
    pub(crate) fn settle_all(&self, come_to: impl Fn(&Entries) -> u64) {
        for level in (1..self.levels.len()).rev() {
            for (index, line) in self.levels[level].iter().enumerate() {
                let above = &self.levels[level - 1][index / FAN_OUT].0[index % FAN_OUT];
                settle(above, || come_to(&line.read()));
            }
        }
    }

    /// Returns true if every entry equals the result of the entries below it.
    #[cfg(test)]
    pub(crate) fn is_settled(&self, come_to: impl Fn(&Entries) -> u64) -> bool {
        let entry =
            |level: usize, index: usize| self.levels[level][index / FAN_OUT].0[index % FAN_OUT].load(SeqCst);
        (1..self.levels.len()).all(|level| {
            let mut below = self.levels[level].iter().enumerate();
            below.all(|(index, line)| entry(level - 1, index) == come_to(&line.read()))
        })
    }
}

impl Line {
    fn read(&self) -> Entries {
        std::array::from_fn(|index| self.0[index].load(SeqCst))
    }
}

/// Sets `entry` to `value` and returns only after seeing them equal. Returns true if the entry had to be
/// changed.
pub(crate) fn settle(entry: &AtomicU64, value: impl Fn() -> u64) -> bool {
    let mut changed = false;
    loop {
        let old = entry.load(SeqCst);
        let new = value();
        if old == new {
            return changed;
        }
        changed |= entry.compare_exchange(old, new, SeqCst, SeqCst).is_ok();
    }
}
