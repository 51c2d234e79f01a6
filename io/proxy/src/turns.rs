//! Very many servers that are looked at regularly, some at a time. No cache holds what is known of thousands, and each line of memory has
//! to be waited for: all of them at once would stall requests, and all of them each second would cost what many requests cost.

use std::ops::Range;

/// Whose turn it is.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Turns {
    next: usize,
}

/// Those whose turn it is, of any number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part {
    part: usize,
    parts: usize,
}

impl Turns {
    /// The next part of `total`, at most about `at_once` of them; each comes again after all the others. There are at least
    /// `turns_min` turns, or as many as `total` takes.
    pub(crate) fn next(&mut self, total: usize, at_once: usize, turns_min: usize) -> Part {
        let parts = total.div_ceil(at_once.max(1)).max(turns_min).max(1);
        let part = self.next % parts;
        self.next = part + 1;
        Part { part, parts }
    }
}

impl Part {
    /// All of them.
    pub(crate) const ALL: Self = Self { part: 0, parts: 1 };

    /// Which of `length` belong to it.
    pub(crate) fn of(self, length: usize) -> Range<usize> {
        let size = length.div_ceil(self.parts);
        let from = (self.part * size).min(length);
        from..(from + size).min(length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_one_has_its_turn_once_in_as_many_turns_as_there_must_be() {
        for (total, turns_wanted) in [(0, 5), (1, 5), (4, 5), (12, 5), (500, 5), (501, 6), (10_000, 100)] {
            let mut turns = Turns::default();
            let mut looked_at = vec![0; total];
            for _ in 0..turns_wanted * 2 {
                let range = turns.next(total, 100, 5).of(total);
                assert!(range.len() <= 100, "{total}: {range:?}");
                looked_at[range].iter_mut().for_each(|times| *times += 1);
            }
            assert!(looked_at.iter().all(|times| *times == 2), "{total}: {looked_at:?}");
        }
    }

    #[test]
    fn a_part_of_all_is_a_part_of_each() {
        let (few, many) = (7, 1_003);
        let mut turns = Turns::default();
        let parts: Vec<_> = (0..11).map(|_| turns.next(few + many, 100, 1)).collect();
        for length in [few, many] {
            let in_order: Vec<_> = parts.iter().flat_map(|part| part.of(length)).collect();
            assert_eq!(in_order, (0..length).collect::<Vec<_>>());
        }
    }

    #[test]
    fn who_has_their_turn_goes_on_when_there_are_fewer_or_more() {
        let mut turns = Turns::default();
        for total in [1_000, 900, 0, 5_000, 3, 400] {
            let range = turns.next(total, 100, 1).of(total);
            assert!(range.end <= total && (range.is_empty() == (total == 0)), "{total}: {range:?}");
        }
    }

    #[test]
    fn all_are_all() {
        assert_eq!(Part::ALL.of(12), 0..12);
        assert_eq!(Part::ALL.of(0), 0..0);
    }
}
