use std::ops::{Deref, DerefMut};

/// A buffer that begins where a page of memory begins: what the kernel copies files and messages to.
///
/// What the allocator hands out in this size begins 16 bytes behind the start of a page. Files begin at the start of one, and to
/// copy from there to 16 to 63 bytes behind it takes processors of the Zen family (`rep movsb` in the kernel) up to five times as
/// long.
#[derive(Debug, Default)]
pub struct PageBuffer {
    bytes: Vec<u8>,
    start: usize,
    length: usize,
}

impl PageBuffer {
    /// The smallest that there is; where pages are larger, nothing is lost.
    const PAGE_BYTES: usize = 4096;

    /// Of zeros.
    pub fn zeroed(length: usize) -> Self {
        let bytes = vec![0; length + Self::PAGE_BYTES];
        // The least offset, if it can be told; a buffer that begins elsewhere is as good, but for the time.
        let start = bytes.as_ptr().align_offset(Self::PAGE_BYTES).min(Self::PAGE_BYTES);
        Self { bytes, start, length }
    }

    /// Makes it shorter, if it is longer.
    pub fn truncate(&mut self, length: usize) {
        self.length = self.length.min(length);
    }

    /// The memory itself, and where in it the buffer begins; it ends with the buffer.
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
