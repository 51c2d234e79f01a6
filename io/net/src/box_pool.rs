//! A pool of boxes for values of one type.

use std::cell::RefCell;
use std::fmt;
use std::mem::MaybeUninit;

/// Memory for values of one type that are created and dropped with each request. The next value reuses the
/// memory of the last one, so the steady state needs no allocation.
///
/// glibc keeps at most seven freed blocks of a size per thread, and none above one kilobyte. Each other block
/// costs locks and a search when it is allocated and again when it is freed.
pub struct BoxPool<T> {
    #[allow(clippy::vec_box)] // The pool keeps the boxes themselves.
    free: RefCell<Vec<Box<MaybeUninit<T>>>>,
}

impl<T> BoxPool<T> {
    const FREE_MAX: usize = 128;

    /// Moves `value` into a box, in reused memory if there is any.
    pub fn put(&self, value: T) -> Box<T> {
        let room = self.free.borrow_mut().pop();
        match room {
            Some(room) => Box::write(room, value),
            None => Box::new(value),
        }
    }

    /// Frees the memory that the pool keeps.
    pub fn clear(&self) {
        self.free.take();
    }

    /// Drops the value in the box and keeps the memory.
    #[allow(unsafe_code)]
    pub fn give(&self, boxed: Box<T>) {
        let raw = Box::into_raw(boxed);
        // SAFETY: `raw` comes from a box, so it points to a value with no other owner. The value is dropped
        // once: afterwards the memory is that of an absent value with the same size and alignment. If
        // dropping it panics, its memory leaks, and nothing refers to it.
        let room = unsafe {
            raw.drop_in_place();
            Box::from_raw(raw.cast::<MaybeUninit<T>>())
        };
        // Must not be borrowed earlier: the dropped value may return other boxes.
        let mut free = self.free.borrow_mut();
        if free.len() < Self::FREE_MAX {
            free.push(room);
        }
    }
}

impl<T> Default for BoxPool<T> {
    fn default() -> Self {
        Self { free: RefCell::default() }
    }
}

impl<T> fmt::Debug for BoxPool<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BoxPool").field("free", &self.free.borrow().len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;

    use super::*;

    #[test]
    fn memory_that_was_given_back_is_the_next_ones() {
        let pool = BoxPool::default();
        let (first, second) = (pool.put([1_u64; 9]), pool.put([2; 9]));
        let at = [first.as_ptr(), second.as_ptr()];
        pool.give(first);
        pool.give(second);
        let (third, fourth) = (pool.put([3; 9]), pool.put([4; 9]));
        assert_eq!([fourth.as_ptr(), third.as_ptr()], at);
        assert_eq!((*third, *fourth), ([3; 9], [4; 9]));
    }

    #[test]
    fn what_is_given_back_is_dropped_once_and_at_once() {
        let pool = BoxPool::default();
        let shared = Rc::new(());
        let boxed = pool.put(Rc::clone(&shared));
        assert_eq!(Rc::strong_count(&shared), 2);
        pool.give(boxed);
        assert_eq!(Rc::strong_count(&shared), 1);
        drop(pool);
        assert_eq!(Rc::strong_count(&shared), 1);
    }

    #[test]
    fn no_more_memory_is_kept_than_a_burst_of_requests_needs() {
        let pool = BoxPool::default();
        let boxes: Vec<_> = (0..BoxPool::<usize>::FREE_MAX + 9).map(|value| pool.put(value)).collect();
        boxes.into_iter().for_each(|boxed| pool.give(boxed));
        assert_eq!(pool.free.borrow().len(), BoxPool::<usize>::FREE_MAX);
    }
}
