//! Very many servers that are looked at regularly, some at a time. No cache holds what is known of thousands, and each line of memory has
//! to be waited for: all of them at once would stall requests, and all of them each second would cost what many requests cost.

use std::ops::Range;

/// Whose turn it is.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Turns {
    next: usize,
}

/// Those whose turn it is, of all in a row.
#[derive(Debug, Clone)]
pub(crate) struct Part(Range<usize>);

impl Turns {
    /// The next part of `total`, at most `at_once` of them; each comes again after all the others, in `turns_min` turns at most if
    /// that is not more at once.
    pub(crate) fn next(&mut self, total: usize, at_once: usize, turns_min: usize) -> Part {
        let size = total.div_ceil(turns_min.max(1)).clamp(1, at_once.max(1));
        let from = if self.next < total { self.next } else { 0 };
        self.next = from.saturating_add(size).min(total);
        Part(from..self.next)
    }
}

impl Part {
    /// All there are.
    pub(crate) const ALL: Self = Self(0..usize::MAX);

    /// Which belong to it of the `count` that come after `before` others in the row.
    pub(crate) fn of(&self, before: usize, count: usize) -> Range<usize> {
        let within = |at: usize| at.saturating_sub(before).min(count);
        within(self.0.start)..within(self.0.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_one_has_its_turn_once_in_as_many_turns_as_there_must_be() {
        for (total, turns_wanted) in [(0, 1), (1, 1), (4, 4), (12, 4), (500, 5), (501, 6), (10_000, 100)] {
            let mut turns = Turns::default();
            let mut looked_at = vec![0; total];
            for _ in 0..turns_wanted * 2 {
                let range = turns.next(total, 100, 5).of(0, total);
                assert!(range.len() <= 100, "{total}: {range:?}");
                looked_at[range].iter_mut().for_each(|times| *times += 1);
            }
            assert!(looked_at.iter().all(|times| *times == 2), "{total}: {looked_at:?}");
        }
    }

    #[test]
    fn however_many_groups_there_are_no_more_have_their_turn_at_once() {
        let groups = [1, 700, 0, 3, 1, 1, 305];
        let total = groups.iter().sum();
        let mut turns = Turns::default();
        let mut looked_at: Vec<Vec<usize>> = groups.map(|count| vec![0; count]).into();
        for _ in 0..11 {
            let part = turns.next(total, 100, 1);
            let (mut before, mut at_once) = (0, 0);
            for group in &mut looked_at {
                let range = part.of(before, group.len());
                at_once += range.len();
                before += group.len();
                group[range].iter_mut().for_each(|times| *times += 1);
            }
            assert!(at_once <= 100);
        }
        assert!(looked_at.iter().flatten().all(|times| *times == 1), "{looked_at:?}");
    }

    #[test]
    fn who_has_their_turn_goes_on_when_there_are_fewer_or_more() {
        let mut turns = Turns::default();
        for total in [1_000, 900, 0, 5_000, 3, 400] {
            let range = turns.next(total, 100, 1).of(0, total);
            assert!(range.end <= total && (range.is_empty() == (total == 0)), "{total}: {range:?}");
        }
        // However the number changes meanwhile, everybody has a turn.
        let mut looked_at = [false; 250];
        for turn in 0..9 {
            looked_at[turns.next(249 + turn % 2, 100, 1).of(0, 250)].fill(true);
        }
        assert_eq!(looked_at, [true; 250]);
    }

    #[test]
    fn all_are_all() {
        assert_eq!(Part::ALL.of(0, 12), 0..12);
        assert_eq!(Part::ALL.of(7, 0), 0..0);
        assert_eq!(Part::ALL.of(0, 0), 0..0);
    }
}
