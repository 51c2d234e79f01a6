//! A pool of byte buffers.

use std::cell::RefCell;

/// Byte vectors that a worker's connections borrow. The steady state needs no allocation, and an idle
/// connection owns no buffer.
#[derive(Debug, Default)]
pub struct BufferPool {
    free: RefCell<Vec<Vec<u8>>>,
}

impl BufferPool {
    const FREE_MAX: usize = 1024;
    /// Maximum capacity of a kept buffer. Larger ones are freed, so that a few large heads do not hold memory
    /// permanently.
    const CAPACITY_MAX: usize = 64 * 1024;

    /// Returns an empty buffer.
    #[inline]
    pub fn take(&self) -> Vec<u8> {
        self.free.borrow_mut().pop().unwrap_or_default()
    }

    /// Returns a buffer with a copy of `bytes`. Without bytes, returns a new vector, so that no pooled buffer
    /// is used for nothing.
    pub fn take_with(&self, bytes: &[u8]) -> Vec<u8> {
        if bytes.is_empty() {
            return Vec::new();
        }
        let mut buffer = self.take();
        buffer.extend_from_slice(bytes);
        buffer
    }

    /// Frees the kept buffers.
    pub fn clear(&self) {
        self.free.take();
    }

    /// Returns a buffer to the pool.
    #[inline]
    pub fn give(&self, mut buffer: Vec<u8>) {
        let mut free = self.free.borrow_mut();
        if (1..=Self::CAPACITY_MAX).contains(&buffer.capacity()) && free.len() < Self::FREE_MAX {
            buffer.clear();
            free.push(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_returned_buffer_is_handed_out_empty_and_large_ones_are_freed() {
        let pool = BufferPool::default();
        pool.give(pool.take_with(b"secret"));
        let again = pool.take();
        assert!(again.is_empty() && again.capacity() >= 6);
        pool.give(again);
        assert_eq!(pool.take_with(b"").capacity(), 0);
        assert!(pool.take().capacity() >= 6);
        pool.give(pool.take_with(b"more"));
        pool.clear();
        assert_eq!(pool.take().capacity(), 0);
        pool.give(vec![0; BufferPool::CAPACITY_MAX + 1]);
        assert_eq!(pool.take().capacity(), 0);
    }
}
