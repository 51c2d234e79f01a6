//! A tree of numbers that all workers share: each inner entry says what the eight below it, which fill one cache line, come to: the
//! smallest of them, or their sum. With 10,000 leaves that is five lines from the root to a leaf. No locks: whoever changes a leaf
//! brings the entries above it up to date, until one needs no change.
//!
//! Why no change gets lost: an entry is written by compare-and-swap, and who has written below it or has written it
//! leaves it only after having seen it equal to what the entries below come to, reading the entry first. So whoever
//! does the last write, of the entry or below it, still sees all final values and would correct it. (Entries, and what leaves come
//! from, are read and written sequentially consistent for that.) While several workers are at it, who reads may find an entry that is
//! a moment old.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

/// The leaves and what they come to.
#[derive(Debug)]
pub(crate) struct Tree {
    /// From the root's only line to the leaves'.
    levels: Box<[Box<[Line]>]>,
}

pub(crate) const FAN_OUT: usize = 8;

/// What is read of one line.
pub(crate) type Entries = [u64; FAN_OUT];

#[derive(Debug)]
#[repr(align(64))]
struct Line([AtomicU64; FAN_OUT]);

impl Tree {
    /// Every entry has this value; so must what entries of it come to.
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

    /// From the root's to the leaves'.
    pub(crate) fn levels(&self) -> usize {
        self.levels.len()
    }

    pub(crate) fn leaf(&self, index: usize) -> &AtomicU64 {
        &self.levels[self.levels.len() - 1][index / FAN_OUT].0[index % FAN_OUT]
    }

    /// The entries of one line, as they are at this moment; None if there is no such line. The line below the entry at `index` of line
    /// `line` is `line * FAN_OUT + index`.
    pub(crate) fn line(&self, level: usize, line: usize) -> Option<Entries> {
        self.levels.get(level)?.get(line).map(Line::read)
    }

    /// Brings the entries above a leaf that was changed up to date, as far up as something changes.
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

    /// Brings all entries up to date with the leaves.
    pub(crate) fn settle_all(&self, come_to: impl Fn(&Entries) -> u64) {
        for level in (1..self.levels.len()).rev() {
            for (index, line) in self.levels[level].iter().enumerate() {
                let above = &self.levels[level - 1][index / FAN_OUT].0[index % FAN_OUT];
                settle(above, || come_to(&line.read()));
            }
        }
    }

    /// Whether every entry is what those below it come to.
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

/// Makes `entry` equal to `value`, and leaves only when it has been seen to be. Returns whether it had to be changed.
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
