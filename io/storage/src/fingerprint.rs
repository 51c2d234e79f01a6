use std::hash::{BuildHasher, RandomState};

use weir_dav::path::DavPath;

use crate::Metadata;

/// What all members of a tree are, in a few bytes: two are equal if the same members with the same contents were seen, in
/// whatever order.
#[derive(Debug, Clone)]
pub(crate) struct Fingerprint {
    hasher: RandomState,
    sum: u64,
    members: u64,
}

impl Fingerprint {
    pub(crate) fn new() -> Self {
        Self { hasher: RandomState::new(), sum: 0, members: 0 }
    }

    /// Of nothing yet, to be compared with this one.
    pub(crate) fn another(&self) -> Self {
        Self { hasher: self.hasher.clone(), sum: 0, members: 0 }
    }

    /// Adds a member at its path below the top of the tree.
    pub(crate) fn add(&mut self, path: &DavPath, member: &Metadata) {
        // Of a directory, its members say what it has, and the time of its last change that nobody changed its properties.
        let content = (!member.is_directory()).then_some((member.size, member.modified));
        let what = (path, member.inode, member.device, member.changed, content);
        self.sum = self.sum.wrapping_add(self.hasher.hash_one(what));
        self.members = self.members.wrapping_add(1);
    }

    /// Whether both are of the same.
    pub(crate) fn is_same_as(&self, other: &Self) -> bool {
        (self.sum, self.members) == (other.sum, other.members)
    }
}
