//! The rules for requests that are bound to a server.

use crate::{Candidate, Roster};

/// Readiness of a server for a request that is bound to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// The server takes the request: it is in rotation, drains, or has weight 0.
    Open,
    /// The server would take the request but is at its `connections_max`.
    Busy,
    /// The server takes nothing: it is down, ejected, in maintenance, or does not exist.
    Gone,
}

impl Roster {
    /// Returns the readiness of the server in `slot` for a request that is bound to it. Follow
    /// [`Standing::Open`] with [`Roster::try_begin`].
    pub fn standing(&self, slot: usize) -> Standing {
        match self.candidate(slot) {
            Some(candidate) if candidate.keeps_clients && candidate.has_room() => Standing::Open,
            Some(candidate) if candidate.keeps_clients => Standing::Busy,
            _ => Standing::Gone,
        }
    }

    /// Returns true if a request bound to the server in `slot` may take the place of one that ends there.
    /// Then nothing needs to be counted.
    pub fn may_succeed(&self, slot: usize) -> bool {
        let within = |candidate: &Candidate| candidate.load.active() <= candidate.max();
        self.candidate(slot).is_some_and(|candidate| candidate.keeps_clients && within(candidate))
    }

    /// Returns true if another roster of the pool has the same members with the same weights and portions.
    /// Then each key that has its own server has the same one in both. O(number of servers).
    pub fn shares_like(&self, other: &Self) -> bool {
        let shares = |roster: &Self, slot: usize| {
            roster
                .candidate(slot)
                .map(|candidate| (candidate.identity(), candidate.weight, candidate.portion))
        };
        self.algorithm() == other.algorithm()
            && self.members() == other.members()
            && self.members().iter().all(|slot| shares(self, *slot) == shares(other, *slot))
    }
}
