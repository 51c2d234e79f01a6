use std::cell::RefCell;

/// Byte vectors that a worker's connections borrow while they need one and give back, so that the steady state
/// allocates nothing and an idle connection owns none.
#[derive(Debug, Default)]
pub struct BufferPool {
    free: RefCell<Vec<Vec<u8>>>,
}

impl BufferPool {
    const FREE_MAX: usize = 1024;
    /// One that has grown larger is freed: a few large heads must not keep memory for good.
    const CAPACITY_MAX: usize = 64 * 1024;

    /// An empty buffer.
    #[inline]
    pub fn take(&self) -> Vec<u8> {
        self.free.borrow_mut().pop().unwrap_or_default()
    }

    /// A buffer with `bytes` in it. Of no bytes there is none: it would leave the pool to hold nothing.
    pub fn take_with(&self, bytes: &[u8]) -> Vec<u8> {
        if bytes.is_empty() {
            return Vec::new();
        }
        let mut buffer = self.take();
        buffer.extend_from_slice(bytes);
        buffer
    }

    /// Frees what it keeps.
    pub fn clear(&self) {
        self.free.take();
    }

    /// Takes a buffer back.
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
