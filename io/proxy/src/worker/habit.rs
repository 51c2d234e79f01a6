//! Predicts the next response on a server connection.

/// Recent responses on one connection to a server. They determine how much of the next response to read
/// first. A wrong guess only changes the number of system calls.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Habit {
    spliced_in_a_row: u8,
    head_bytes: u32,
}

impl Habit {
    /// Number of long bodies in a row after which another one is expected. A wrong guess costs two extra
    /// calls for a body that is shorter than expected; a right one saves copying some KiB in and out. The
    /// guess must therefore be right far more often than not.
    const SPLICED_MIN: u8 = 4;
    /// Number of bytes by which the next head may exceed the last one.
    const HEAD_GROWTH_BYTES: usize = 512;
    /// Minimum size of the first read; a smaller read saves nothing.
    const READ_BYTES_MIN: usize = 1024;

    /// Records a response: the size of its head, and whether most of its body was spliced.
    pub(crate) fn saw(&mut self, head_bytes: u32, spliced: bool) {
        self.spliced_in_a_row = if spliced { self.spliced_in_a_row.saturating_add(1) } else { 0 };
        self.head_bytes = head_bytes;
    }

    /// Returns how many bytes to read first: enough for the next head, while most of its long body stays in
    /// the socket to be spliced. `None` = no prediction.
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
