use crate::Roster;

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
}
