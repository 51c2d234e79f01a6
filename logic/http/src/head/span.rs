//! Ranges of bytes in a parsed buffer.

/// A range of bytes in the parsed buffer, start included, end excluded. Heads hold spans instead of slices,
/// so that a task can keep them while the buffer is moved or reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// No bytes.
    pub const EMPTY: Self = Self { start: 0, end: 0 };

    pub(crate) fn new(start: usize, end: usize) -> Self {
        debug_assert!(start <= end && end <= u32::MAX as usize);
        Self { start: start as u32, end: end as u32 }
    }

    /// Returns the bytes; none if `buf` is a different buffer and too short.
    #[inline]
    pub fn of(self, buf: &[u8]) -> &[u8] {
        buf.get(self.start as usize..self.end as usize).unwrap_or_default()
    }

    /// Returns the number of bytes.
    pub const fn len(self) -> usize {
        (self.end - self.start) as usize
    }

    /// Returns true if the span is empty.
    pub const fn is_empty(self) -> bool {
        self.start == self.end
    }
}
