//! A buffer aligned to memory pages.

use std::ops::{Deref, DerefMut};

/// A buffer that begins at a page boundary, as the target of kernel copies of files and messages.
///
/// The allocator's blocks of this size begin 16 bytes after a page boundary, and file contents begin at one.
/// Processors of the Zen family take up to five times as long for such a copy to an offset of 16 to 63 bytes
/// (`rep movsb` in the kernel).
#[derive(Debug, Default)]
pub struct PageBuffer {
    bytes: Vec<u8>,
    start: usize,
    length: usize,
}

impl PageBuffer {
    /// The smallest page size; the alignment also helps on systems with larger pages.
    const PAGE_BYTES: usize = 4096;

    /// Creates a buffer of zeros.
    pub fn zeroed(length: usize) -> Self {
        let bytes = vec![0; length + Self::PAGE_BYTES];
        // Uses the smallest offset to a page boundary, if it is known. Another offset is correct too, but
        // slower.
        let start = bytes.as_ptr().align_offset(Self::PAGE_BYTES).min(Self::PAGE_BYTES);
        Self { bytes, start, length }
    }

    /// Shortens the buffer to at most `length` bytes.
    pub fn truncate(&mut self, length: usize) {
        self.length = self.length.min(length);
    }

    /// Returns the memory and the offset at which the buffer begins in it. The memory ends with the buffer.
    pub fn into_parts(mut self) -> (Vec<u8>, usize) {
        self.bytes.truncate(self.start + self.length);
        (self.bytes, self.start)
    }
}

impl Deref for PageBuffer {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.bytes[self.start..self.start + self.length]
    }
}

impl DerefMut for PageBuffer {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..self.start + self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_begins_at_a_page_and_has_the_length_that_was_asked_for() {
        for length in [0, 1, 4096, 70_000, 1 << 20] {
            let mut buffer = PageBuffer::zeroed(length);
            assert_eq!((buffer.len(), buffer.as_ptr().addr() % 4096), (length, 0));
            buffer.fill(7);
            buffer.truncate(length / 2);
            assert_eq!(buffer.len(), length / 2);
            buffer.truncate(length);
            assert_eq!(buffer.len(), length / 2);
            let (bytes, start) = buffer.into_parts();
            assert_eq!(bytes[start..], vec![7; length / 2]);
        }
        assert!(PageBuffer::default().is_empty());
    }
}
