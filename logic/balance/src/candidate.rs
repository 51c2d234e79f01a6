//! One server of a pool, as the algorithms see it.

use std::sync::Arc;

use weir_model::{ServerAddress, Weight};

use crate::{Portion, ServerLoad};

/// A server that a pool offers for selection.
///
/// The fields that a pick reads come first and next to each other, because no cache holds thousands of
/// servers.
#[derive(Debug, Clone)]
#[repr(C)]
pub struct Candidate {
    /// Current load; the same object for as long as the server exists.
    pub load: Arc<ServerLoad>,
    /// Most requests in flight. A lower limit of the load applies as well. `None` = no limit; then the load's
    /// own limit does not apply either.
    pub connections_max: Option<u32>,
    /// Share of the traffic; a server with weight 0 receives nothing new.
    pub weight: Weight,
    /// Fraction of the weight that counts right now. A roster lowers it if the subset or the zone assigns
    /// only a part of it. Algorithms that count only whole weights ignore it
    /// ([`Algorithm::weighs_portions`](crate::Algorithm::weighs_portions)).
    pub portion: Portion,
    /// Position in the pool's order, for algorithms that depend on the order: 0 is the first, at most a
    /// million.
    pub rank: u32,
    /// Index in the pool, unchanged for as long as the server is in the pool. The pool gives a new server the
    /// lowest free index, because tables are as long as the highest one.
    pub slot: usize,
    /// Listening address as written in the config. Algorithms use it where the choice must not depend on the
    /// order of servers.
    pub address: ServerAddress,
    /// Number that stands for the name ([`RingPoints::name_key`](crate::RingPoints::name_key)), for a ring
    /// that uses names.
    pub name_key: u32,
    /// Priority group. The server is chosen only if no server with a lower number is eligible.
    pub priority: u16,
    /// True for a backup server: it is chosen only if no other server is eligible, whatever the priorities.
    pub backup: bool,
    /// True if the server is in this Weir's zone, or if zones do not count.
    pub is_local: bool,
    /// True if the server is up and neither ejected, drained nor in maintenance.
    pub eligible: bool,
    /// True if the server is back from an ejection for only a few requests. A tier with no other servers is
    /// not enough: the next tier takes part as well.
    pub half_open: bool,
    /// True if the server takes requests of clients bound to it: it is up, and neither ejected nor in
    /// maintenance. A drained server or one with weight 0 gets no other requests.
    pub keeps_clients: bool,
}

impl Candidate {
    /// Returns a number that differs from that of every other server alive at the same time.
    pub(crate) fn identity(&self) -> usize {
        Arc::as_ptr(&self.load).addr()
    }

    /// Returns true if the server may be chosen, busy or not.
    pub(crate) fn is_usable(&self) -> bool {
        self.eligible && self.weight > Weight::ZERO
    }

    /// Returns the part of the weight that counts, in thousandths of a unit.
    pub(crate) fn share(&self) -> u32 {
        self.weight.get() * self.portion.get()
    }

    /// Returns true if the server can take one more request right now.
    pub(crate) fn has_room(&self) -> bool {
        self.load.active() < self.max()
    }

    /// Returns how many more requests the server can take; `u64::MAX` = any number.
    pub(crate) fn room(&self) -> u64 {
        match self.max() {
            u32::MAX => u64::MAX,
            max => max.saturating_sub(self.load.active()).into(),
        }
    }

    /// Returns the most requests in flight that the server takes; `u32::MAX` = no limit.
    pub(crate) fn max(&self) -> u32 {
        self.connections_max.map_or(u32::MAX, |max| max.min(self.load.limit()))
    }
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    #[test]
    fn what_a_pick_looks_at_is_together() {
        let looked_at = [
            offset_of!(Candidate, load),
            offset_of!(Candidate, connections_max),
            offset_of!(Candidate, weight),
            offset_of!(Candidate, portion),
        ];
        assert!(looked_at.iter().all(|at| *at < 32), "{looked_at:?}");
    }
}
