//! Byte ranges of a file.

/// A non-empty range of bytes of a file, with inclusive ends as in HTTP (RFC 9110 section 14.1.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteRange {
    first: u64,
    last: u64,
}

impl ByteRange {
    /// Creates a range. Returns `None` if `last` is before `first`, or if the length would not fit into
    /// `u64`.
    pub const fn new(first: u64, last: u64) -> Option<Self> {
        if last < first || last == u64::MAX { None } else { Some(Self { first, last }) }
    }

    /// Returns the position of the first byte, counted from 0.
    pub const fn first(self) -> u64 {
        self.first
    }

    /// Returns the position of the last byte.
    pub const fn last(self) -> u64 {
        self.last
    }

    /// Returns the position after the last byte.
    pub const fn end(self) -> u64 {
        self.last + 1
    }

    /// Returns the number of bytes, at least 1.
    pub const fn bytes(self) -> u64 {
        self.last - self.first + 1
    }
}
