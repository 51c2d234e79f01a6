//! Fingerprints of directory trees.

use std::hash::{BuildHasher, RandomState};

use weir_dav::path::DavPath;

use crate::Metadata;

/// A short summary of all members of a tree. Two are equal if the same members with the same contents were
/// added, in any order.
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

    /// Returns an empty fingerprint that can be compared with this one.
    pub(crate) fn another(&self) -> Self {
        Self { hasher: self.hasher.clone(), sum: 0, members: 0 }
    }

    /// Adds a member by its path below the top of the tree.
    pub(crate) fn add(&mut self, path: &DavPath, member: &Metadata) {
        // For a directory, `changed` covers its properties, and its members are added themselves.
        let content = (!member.is_directory()).then_some((member.size, member.modified));
        let what = (path, member.inode, member.device, member.changed, content);
        self.sum = self.sum.wrapping_add(self.hasher.hash_one(what));
        self.members = self.members.wrapping_add(1);
    }

    /// Returns whether both have the same members.
    pub(crate) fn is_same_as(&self, other: &Self) -> bool {
        (self.sum, self.members) == (other.sum, other.members)
    }
}
