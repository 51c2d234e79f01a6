//! Finds the longest time without a successful response.

/// Milliseconds from the start of a run in which an expected response completed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Answered {
    /// One bit per millisecond.
    bits: Vec<u64>,
}

/// Later responses are ignored. The limit is over an hour, and keeps the memory below 600 KiB.
const MS_MAX: u64 = 1 << 22;

impl Answered {
    pub(crate) fn add(&mut self, end_ns: u64) {
        let ms = end_ns / 1_000_000;
        if ms >= MS_MAX {
            return;
        }
        let at = (ms / 64) as usize;
        if at >= self.bits.len() {
            self.bits.resize(at + 1, 0);
        }
        self.bits[at] |= 1 << (ms % 64);
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        if self.bits.len() < other.bits.len() {
            self.bits.resize(other.bits.len(), 0);
        }
        self.bits.iter_mut().zip(&other.bits).for_each(|(mine, theirs)| *mine |= theirs);
    }

    /// Returns the longest time between two responses, in milliseconds. The time from the last response to
    /// `until_ns` counts, too.
    pub(crate) fn longest_gap_ms(&self, until_ns: u64) -> u64 {
        let (mut last, mut longest) = (0, 0);
        for (at, word) in self.bits.iter().enumerate() {
            let mut left = *word;
            while left != 0 {
                let ms = at as u64 * 64 + u64::from(left.trailing_zeros());
                longest = longest.max(ms - last);
                last = ms;
                left &= left - 1;
            }
        }
        longest.max((until_ns / 1_000_000).min(MS_MAX).saturating_sub(last))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn answered(ms: &[u64]) -> Answered {
        let mut answered = Answered::default();
        ms.iter().for_each(|ms| answered.add(ms * MS));
        answered
    }

    #[test]
    fn the_longest_silence_is_found_wherever_it_is() {
        assert_eq!(answered(&[1, 2, 3, 700, 701]).longest_gap_ms(702 * MS), 697);
        assert_eq!(answered(&[400, 401]).longest_gap_ms(402 * MS), 400, "at the beginning");
        assert_eq!(answered(&[1, 2]).longest_gap_ms(902 * MS), 900, "at the end");
        assert_eq!(answered(&[]).longest_gap_ms(50 * MS), 50, "all of it");
        assert_eq!(answered(&[63, 64, 128]).longest_gap_ms(128 * MS), 64, "over the ends of words");
    }

    #[test]
    fn answers_of_two_threads_fill_each_others_gaps() {
        let mut one = answered(&[1, 500]);
        one.merge(&answered(&[250, 900]));
        assert_eq!(one.longest_gap_ms(900 * MS), 400);
    }

    #[test]
    fn a_time_that_is_no_time_takes_no_memory() {
        let mut answered = answered(&[1]);
        answered.add(u64::MAX);
        assert_eq!(answered.bits.len(), 1);
    }
}
