use std::sync::Arc;

use weir_model::{ServerAddress, Weight};

use crate::{Portion, ServerLoad};

/// A server as a pool puts it up for choice.
///
/// What a pick looks at stands first and together: of thousands no cache holds all.
#[derive(Debug, Clone)]
#[repr(C)]
pub struct Candidate {
    /// What it has to do; the same for as long as the server exists.
    pub load: Arc<ServerLoad>,
    /// With this many requests in flight it takes no more, and with a lower limit of its load no more than that. None =
    /// no limit: then its load's does not hold either.
    pub connections_max: Option<u32>,
    /// Its share of the traffic; 0 receives nothing new.
    pub weight: Weight,
    /// What counts of the weight right now. In a roster it is less where the subset or the zone has only a part of it.
    /// Algorithms that know whole weights only do not look at it ([`Algorithm::weighs_portions`](crate::Algorithm::weighs_portions)).
    pub portion: Portion,
    /// Its place in the pool's order, which counts where the order decides: 0 is the first. At most a million.
    pub rank: u32,
    /// Its place in the pool, its own for as long as it is in there. The pool gives the lowest free one to a new
    /// server: tables are as long as the highest slot.
    pub slot: usize,
    /// Where it listens, as the config has it: what algorithms go by whose choice must not depend on the order of servers.
    pub address: ServerAddress,
    /// What its name counts as ([`RingPoints::name_key`](crate::RingPoints::name_key)), for a ring that goes by names.
    pub name_key: u32,
    /// Only chosen when no server of a lower number is eligible.
    pub priority: u16,
    /// Only chosen when no server without this mark is eligible, whatever its priority.
    pub backup: bool,
    /// It is near: in the zone of this Weir, or zones do not count.
    pub is_local: bool,
    /// Up, not ejected, not drained, not in maintenance.
    pub eligible: bool,
    /// Back from an ejection for a few requests only. A tier that has no other servers does not suffice: the next one takes part, too.
    pub half_open: bool,
    /// Takes requests of clients that are bound to it: up, neither ejected nor in maintenance. It may be drained, or have
    /// weight 0: then it gets no others.
    pub keeps_clients: bool,
}

impl Candidate {
    /// Another number than that of any other server at the same time.
    pub(crate) fn identity(&self) -> usize {
        Arc::as_ptr(&self.load).addr()
    }

    /// Whether it may be chosen at all, be it busy or not.
    pub(crate) fn is_usable(&self) -> bool {
        self.eligible && self.weight > Weight::ZERO
    }

    /// What counts of its weight, in thousandths of a unit.
    pub(crate) fn share(&self) -> u32 {
        self.weight.get() * self.portion.get()
    }

    /// Whether it has room for one more request right now.
    pub(crate) fn has_room(&self) -> bool {
        self.load.active() < self.max()
    }

    /// How many more requests it has room for; `u64::MAX` = any number.
    pub(crate) fn room(&self) -> u64 {
        match self.max() {
            u32::MAX => u64::MAX,
            max => max.saturating_sub(self.load.active()).into(),
        }
    }

    /// With this many requests in flight it takes no more; `u32::MAX` = no limit.
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
