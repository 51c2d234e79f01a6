/// Bytes of a file, first and last included, as HTTP counts (RFC 9110 section 14.1.2). Never empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteRange {
    first: u64,
    last: u64,
}

impl ByteRange {
    /// `None` if `last` is before `first`, or if the length would not fit into `u64`.
    pub const fn new(first: u64, last: u64) -> Option<Self> {
        if last < first || last == u64::MAX { None } else { Some(Self { first, last }) }
    }

    /// Position of its first byte, from 0.
    pub const fn first(self) -> u64 {
        self.first
    }

    /// Position of its last byte.
    pub const fn last(self) -> u64 {
        self.last
    }

    /// Position after its last byte.
    pub const fn end(self) -> u64 {
        self.last + 1
    }

    /// Number of bytes, at least 1.
    pub const fn bytes(self) -> u64 {
        self.last - self.first + 1
    }
}
