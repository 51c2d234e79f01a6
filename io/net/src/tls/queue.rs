//! A queue of bytes.

use std::cell::RefCell;

/// FIFO queue of bytes. Owns no memory while it is empty, which keeps idle connections small.
#[derive(Default)]
pub(super) struct ByteQueue {
    bytes: Vec<u8>,
    start: usize,
}

/// Minimum capacity of buffers that the thread keeps for reuse. Otherwise each write that a socket takes only
/// in part would allocate and free 64 KiB from the kernel.
const REUSED_MIN: usize = 4 * 1024;
/// Maximum capacity of kept buffers; larger ones are freed.
const REUSED_MAX: usize = 160 * 1024;
const REUSED_COUNT: usize = 16;

thread_local! {
    static REUSED: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

impl ByteQueue {
    /// Returns the queued bytes.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    /// Returns the queued bytes, mutable.
    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..]
    }

    /// Returns the number of queued bytes.
    pub(super) fn len(&self) -> usize {
        self.bytes.len() - self.start
    }

    /// Returns true if the queue is empty.
    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends `more`.
    pub(super) fn push(&mut self, more: &[u8]) {
        if more.is_empty() {
            return;
        }
        self.make_room(more.len());
        self.bytes.extend_from_slice(more);
    }

    /// Appends `count` zeroes and returns them to be filled.
    pub(super) fn grow(&mut self, count: usize) -> &mut [u8] {
        self.make_room(count);
        let end = self.bytes.len();
        self.bytes.resize(end + count, 0);
        &mut self.bytes[end..]
    }

    /// Removes up to `count` bytes from the front.
    pub(super) fn consume(&mut self, count: usize) {
        self.start += count.min(self.len());
        if self.is_empty() {
            self.clear();
        }
    }

    /// Moves as many bytes as fit into `target` and returns their number.
    pub(super) fn read(&mut self, target: &mut [u8]) -> usize {
        let count = self.len().min(target.len());
        target[..count].copy_from_slice(&self.bytes()[..count]);
        self.consume(count);
        count
    }

    /// Removes all bytes and releases the memory.
    pub(super) fn clear(&mut self) {
        self.start = 0;
        let mut bytes = std::mem::take(&mut self.bytes);
        if !(REUSED_MIN..=REUSED_MAX).contains(&bytes.capacity()) {
            return;
        }
        REUSED.with_borrow_mut(|reused| {
            if reused.len() < REUSED_COUNT {
                bytes.clear();
                reused.push(bytes);
            }
        });
    }

    fn make_room(&mut self, count: usize) {
        // Small requests allocate exactly: a few hundred bytes must not hold a large reused buffer while a
        // connection is idle.
        if self.bytes.capacity() == 0 && count >= REUSED_MIN {
            self.bytes = REUSED.with_borrow_mut(Vec::pop).unwrap_or_default();
        }
        if self.bytes.capacity() - self.bytes.len() < count && self.start > 0 {
            self.bytes.drain(..self.start);
            self.start = 0;
        }
        self.bytes.reserve_exact(count);
    }
}

impl Drop for ByteQueue {
    fn drop(&mut self) {
        // When the thread's tasks are dropped, its buffers may be gone already.
        if REUSED.try_with(|_| ()).is_ok() {
            self.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_leave_in_the_order_in_which_they_came() {
        let mut queue = ByteQueue::default();
        queue.push(b"abc");
        queue.consume(1);
        queue.push(b"def");
        queue.grow(1)[0] = b'g';
        let mut target = [0; 3];
        assert_eq!((queue.read(&mut target), &target), (3, b"bcd"));
        assert_eq!((queue.bytes(), queue.len()), (&b"efg"[..], 3));
    }

    #[test]
    fn an_empty_queue_owns_no_memory() {
        let mut queue = ByteQueue::default();
        for count in [10, 100_000, 1_000_000] {
            queue.push(&vec![1; count]);
            assert!(queue.bytes.capacity() >= count);
            queue.consume(count);
            assert_eq!(queue.bytes.capacity(), 0);
        }
    }

    #[test]
    fn a_few_bytes_never_hold_a_large_reused_buffer() {
        let mut large = ByteQueue::default();
        large.push(&[1; 100_000]);
        large.clear();
        let mut small = ByteQueue::default();
        small.push(b"ticket");
        assert!(small.bytes.capacity() < REUSED_MIN);
        large.push(&[1; REUSED_MIN]);
        assert!(large.bytes.capacity() >= 100_000, "the large buffer is used again");
    }
}
