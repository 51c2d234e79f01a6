//! A stack that stores its last item inline.

/// A stack of reusable items: the last one in is the first one out, so items that are not needed become the
/// oldest.
///
/// The last item is stored inline, and only further ones are allocated. With thousands of servers, most have
/// one idle connection at a time, and none of them is in the CPU cache. Each cache line that a request needs
/// therefore costs a memory access.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Kept<T> {
    /// Last item; `None` after it was taken, even if there are others.
    last: Option<T>,
    /// Other items, oldest first.
    others: Vec<T>,
}

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self { last: None, others: Vec::new() }
    }
}

impl<T> Kept<T> {
    pub(super) fn len(&self) -> usize {
        usize::from(self.last.is_some()) + self.others.len()
    }

    /// Returns the last item if it is stored inline.
    pub(super) fn last(&self) -> Option<&T> {
        self.last.as_ref()
    }

    /// Iterates over all items, oldest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.others.iter().chain(&self.last)
    }

    pub(super) fn push(&mut self, one: T) {
        self.others.extend(self.last.replace(one));
    }

    pub(super) fn pop(&mut self) -> Option<T> {
        self.last.take().or_else(|| self.others.pop())
    }

    /// Drops the items for which `is_good` returns false; tests the oldest first.
    pub(super) fn retain(&mut self, mut is_good: impl FnMut(&mut T) -> bool) {
        self.others.retain_mut(&mut is_good);
        self.last.take_if(|last| !is_good(last));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_in_last_comes_out_first() {
        let mut kept = Kept::default();
        assert_eq!((kept.pop(), kept.len()), (None, 0));
        (1..=3).for_each(|one| kept.push(one));
        assert_eq!((kept.pop(), kept.len()), (Some(3), 2));
        kept.push(4);
        kept.push(5);
        assert_eq!(kept.iter().copied().collect::<Vec<_>>(), [1, 2, 4, 5]);
        kept.retain(|one| *one != 2 && *one != 5);
        assert_eq!([kept.pop(), kept.pop(), kept.pop()], [Some(4), Some(1), None]);
    }

    #[test]
    fn one_alone_needs_no_memory_of_its_own() {
        let mut kept = Kept::default();
        for one in 0..3 {
            kept.push(one);
            assert_eq!(kept.pop(), Some(one));
        }
        assert_eq!(kept.others.capacity(), 0);
    }
}
