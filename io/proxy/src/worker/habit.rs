/// What the responses over one connection to a server were like of late: the next one's head is read accordingly. A guess, of
/// which nothing but the number of calls depends.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Habit {
    spliced_in_a_row: u8,
    head_bytes: u32,
}

impl Habit {
    /// After so many long bodies in a row another one is expected. A wrong guess costs two calls more for a body that is shorter
    /// than expected, a right one saves that some KiB are copied in and out: it must be right far more often than not.
    const SPLICED_MIN: u8 = 4;
    /// So much longer the next head may be than the last.
    const HEAD_GROWTH_BYTES: usize = 512;
    /// Reading less saves nothing.
    const READ_BYTES_MIN: usize = 1024;

    /// Notes a response with a head of so many bytes, most of whose body was spliced, or not.
    pub(crate) fn saw(&mut self, head_bytes: u32, spliced: bool) {
        self.spliced_in_a_row = if spliced { self.spliced_in_a_row.saturating_add(1) } else { 0 };
        self.head_bytes = head_bytes;
    }

    /// So many bytes are enough for the next head, and leave its long body where it can be spliced from. `None` = who knows how
    /// long it is.
    pub(crate) fn first_read_bytes(self) -> Option<usize> {
        let wanted = self.head_bytes as usize + Self::HEAD_GROWTH_BYTES;
        (self.spliced_in_a_row >= Self::SPLICED_MIN).then_some(wanted.max(Self::READ_BYTES_MIN))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(responses: &[(u32, bool)]) -> Option<usize> {
        let mut habit = Habit::default();
        responses.iter().for_each(|&(head_bytes, spliced)| habit.saw(head_bytes, spliced));
        habit.first_read_bytes()
    }

    #[test]
    fn several_long_bodies_in_a_row_promise_another_one() {
        assert_eq!(after(&[]), None);
        assert_eq!(after(&[(200, true); 3]), None);
        assert_eq!(after(&[(200, true); 4]), Some(1024));
        assert_eq!(after(&[(200, true); 1000]), Some(1024));
    }

    #[test]
    fn one_short_body_ends_the_row() {
        assert_eq!(after(&[(200, true), (200, true), (200, true), (200, true), (200, false)]), None);
    }

    #[test]
    fn a_head_as_long_as_the_last_one_is_read_with_one_call() {
        assert_eq!(after(&[(2000, true); 4]), Some(2512));
    }
}
