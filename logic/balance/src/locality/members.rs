//! The set of servers that a key has.

/// A server's slot together with its identity, because another server may have the slot now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Member {
    pub(super) slot: u32,
    pub(super) server: u32,
}

/// The servers of a key, the one added last first.
#[derive(Debug, Clone, Copy)]
pub(super) struct Members {
    list: [Member; Members::MAX],
    count: u8,
}

impl Members {
    pub(super) const MAX: usize = 16;

    pub(super) fn of(member: Member) -> Self {
        let mut list = [Member::default(); Self::MAX];
        list[0] = member;
        Self { list, count: 1 }
    }

    pub(super) fn as_slice(&self) -> &[Member] {
        &self.list[..usize::from(self.count)]
    }

    /// Adds a member at the front. If the set is full, the last one is dropped.
    pub(super) fn push_front(&mut self, member: Member) {
        self.list.copy_within(..Self::MAX - 1, 1);
        self.list[0] = member;
        self.count = (self.count + 1).min(Self::MAX as u8);
    }

    /// Removes the member at this index, if there is one.
    pub(super) fn remove(&mut self, place: usize) -> bool {
        let is_there = place < usize::from(self.count);
        if is_there {
            self.list.copy_within(place + 1.., place);
            self.count -= 1;
        }
        is_there
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_its_newest_in_front_and_no_more_than_there_is_room_for() {
        let member = |slot| Member { slot, server: 7 };
        let slots =
            |members: &Members| members.as_slice().iter().map(|member| member.slot).collect::<Vec<_>>();
        let mut members = Members::of(member(0));
        for slot in 1..20 {
            members.push_front(member(slot));
        }
        assert_eq!(slots(&members), (4..20).rev().collect::<Vec<_>>());
        assert!(members.remove(15) && members.remove(0) && members.remove(1));
        assert_eq!(slots(&members), [18, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5]);
        assert!(!members.remove(13));
    }
}
