use crate::{Candidate, Roster};

/// How a server stands towards a request that is bound to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It takes the request: it is in rotation, or drains, or has weight 0.
    Open,
    /// It would, but is at its `connections_max`.
    Busy,
    /// It takes nothing: it is down, ejected, in maintenance, or not there.
    Gone,
}

impl Roster {
    /// How the server in `slot` stands towards a request that is bound to it. Follow [`Standing::Open`] with
    /// [`Roster::try_begin`].
    pub fn standing(&self, slot: usize) -> Standing {
        match self.candidate(slot) {
            Some(candidate) if candidate.keeps_clients && candidate.has_room() => Standing::Open,
            Some(candidate) if candidate.keeps_clients => Standing::Busy,
            _ => Standing::Gone,
        }
    }

    /// Whether a request that is bound to the server in `slot` may follow on one that ends there, in its place. Nothing is
    /// to be counted then.
    pub fn may_succeed(&self, slot: usize) -> bool {
        let within = |candidate: &Candidate| candidate.load.active() <= candidate.max();
        self.candidate(slot).is_some_and(|candidate| candidate.keeps_clients && within(candidate))
    }

    /// Whether the same servers take part as in another roster of the pool, and as much of their weights counts: then a key
    /// that has a server of its own has the same in both. O(number of servers).
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
