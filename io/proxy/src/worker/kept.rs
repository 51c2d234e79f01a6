/// Things that are kept to be used again, the one that was put in last first: those that are not needed are then the oldest.
///
/// One is kept right here, and only further ones are in memory of their own. With thousands of servers most have one idle connection at a
/// time, no cache holds them, and each line of memory that a request needs has to be waited for.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Kept<T> {
    /// None although there are others, once it was taken.
    last: Option<T>,
    /// In the order in which they were put in.
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

    /// The one that was put in last, if it is still there.
    pub(super) fn last(&self) -> Option<&T> {
        self.last.as_ref()
    }

    /// All, the ones that were put in first before the others.
    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.others.iter().chain(&self.last)
    }

    pub(super) fn push(&mut self, one: T) {
        self.others.extend(self.last.replace(one));
    }

    pub(super) fn pop(&mut self) -> Option<T> {
        self.last.take().or_else(|| self.others.pop())
    }

    /// Drops those that `is_good` says no to; asks those first that were put in first.
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
