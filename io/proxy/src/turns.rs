//! Visits many servers regularly, a part of them at a time. The data of thousands of servers is not in the
//! CPU cache, and each cache line costs a memory access. Visiting all at once would stall requests; visiting
//! all every second would cost as much as many requests.

use std::ops::Range;

/// Position of the next part to visit.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Turns {
    next: usize,
}

/// Items to visit in one turn, as a range over all items in a row.
#[derive(Debug, Clone)]
pub(crate) struct Part(Range<usize>);

impl Turns {
    /// Returns the next part of `total` items, at most `at_once` of them. Each item comes again after all
    /// others. A full round takes `turns_min` turns, or more if `at_once` requires it.
    pub(crate) fn next(&mut self, total: usize, at_once: usize, turns_min: usize) -> Part {
        let size = total.div_ceil(turns_min.max(1)).clamp(1, at_once.max(1));
        let from = if self.next < total { self.next } else { 0 };
        self.next = from.saturating_add(size).min(total);
        Part(from..self.next)
    }
}

impl Part {
    /// All items.
    pub(crate) const ALL: Self = Self(0..usize::MAX);

    /// Returns which of `count` items belong to this part, if `before` other items precede them.
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
        // Even if the number changes meanwhile, every item is visited.
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
