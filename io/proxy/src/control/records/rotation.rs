//! Counts of a pool's servers.

use std::collections::BTreeMap;
use std::fmt;

use weir_health::PoolEjections;

use super::server::Counted;

/// Number of servers that take requests in a pool. Updated incrementally, because a pool may have thousands
/// of servers.
#[derive(Debug, Default)]
pub(in crate::control) struct Rotation {
    /// Tiers by (backup, priority), in the order in which they take over.
    tiers: BTreeMap<(bool, u16), Tier>,
    ordinary: Tier,
    backup: Tier,
    /// Ejected servers, including those that would get no requests anyway.
    ejected: usize,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Tier {
    total: usize,
    /// Servers that would get requests if none were ejected.
    present: usize,
    /// Ejected servers among `present`.
    ejected: usize,
}

impl Rotation {
    /// Replaces a server's contribution to the counts; `None` = the server does not exist.
    pub(super) fn recount(&mut self, before: Option<Counted>, now: Option<Counted>) {
        if let Some(before) = before {
            self.kind(before).subtract(before);
            if let Some(tier) = self.tiers.get_mut(&before.tier()) {
                tier.subtract(before);
            }
            self.ejected -= usize::from(before.ejected);
        }
        if let Some(now) = now {
            self.kind(now).add(now);
            self.tiers.entry(now.tier()).or_default().add(now);
            self.ejected += usize::from(now.ejected);
        }
    }

    /// Returns true if at least one server takes requests.
    pub(in crate::control) fn is_usable(&self) -> bool {
        self.ordinary.usable() + self.backup.usable() > 0
    }

    /// Returns true if only backup servers take requests.
    pub(in crate::control) fn is_on_backups(&self) -> bool {
        self.ordinary.usable() == 0 && self.backup.usable() > 0
    }

    /// Returns the counts that ejection needs for a server of this tier.
    pub(in crate::control) fn ejections(&self, backup: bool, priority: u16) -> PoolEjections {
        let tier = self.tiers.get(&(backup, priority)).copied().unwrap_or_default();
        let elsewhere = self.ordinary.usable() + self.backup.usable() - tier.usable();
        PoolEjections { ejected: tier.ejected, servers: tier.present, elsewhere }
    }

    /// Returns true if a server is ejected, drained or not.
    pub(in crate::control) fn has_ejected(&self) -> bool {
        self.ejected > 0
    }

    fn kind(&mut self, of: Counted) -> &mut Tier {
        if of.backup { &mut self.backup } else { &mut self.ordinary }
    }
}

impl Tier {
    fn usable(self) -> usize {
        self.present - self.ejected
    }

    fn add(&mut self, one: Counted) {
        self.total += 1;
        self.present += usize::from(one.present);
        self.ejected += usize::from(one.present && one.ejected);
    }

    fn subtract(&mut self, one: Counted) {
        self.total -= 1;
        self.present -= usize::from(one.present);
        self.ejected -= usize::from(one.present && one.ejected);
    }
}

/// Formats the counts: `2 of 3 servers left`, `no server left, 1 backup takes over`, `no server left`.
impl fmt::Display for Rotation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.ordinary.usable(), self.backup.usable()) {
            (0, 0) => f.write_str("no server left"),
            (0, 1) => f.write_str("no server left, 1 backup takes over"),
            (0, backups) => write!(f, "no server left, {backups} backups take over"),
            (left, _) => write!(f, "{left} of {} servers left", self.ordinary.total),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_says_who_is_left_and_who_takes_over() {
        let mut rotation = Rotation::default();
        let one = |backup, present, ejected| Counted {
            backup,
            priority: 0,
            present,
            ejected,
            keeps_clients: present,
        };
        for _ in 0..3 {
            rotation.recount(None, Some(one(false, true, false)));
        }
        assert_eq!(rotation.to_string(), "3 of 3 servers left");
        rotation.recount(None, Some(one(true, true, false)));
        rotation.recount(Some(one(false, true, false)), Some(one(false, false, false)));
        rotation.recount(Some(one(false, true, false)), Some(one(false, true, true)));
        assert_eq!(rotation.to_string(), "1 of 3 servers left");
        assert!(rotation.has_ejected());
        let drained = one(false, false, true);
        rotation.recount(Some(one(false, true, true)), Some(drained));
        assert!(rotation.has_ejected());
        rotation.recount(Some(drained), Some(one(false, true, true)));
        assert_eq!(rotation.ejections(false, 0), PoolEjections { ejected: 1, servers: 2, elsewhere: 1 });
        rotation.recount(Some(one(false, true, false)), None);
        assert_eq!(rotation.to_string(), "no server left, 1 backup takes over");
        assert!(rotation.is_usable() && rotation.is_on_backups());
        rotation.recount(Some(one(true, true, false)), Some(one(true, true, true)));
        assert_eq!((rotation.to_string().as_str(), rotation.is_usable()), ("no server left", false));
    }

    #[test]
    fn a_tier_knows_how_many_could_take_over() {
        let mut rotation = Rotation::default();
        let one = |priority, ejected| Counted {
            backup: false,
            priority,
            present: true,
            ejected,
            keeps_clients: !ejected,
        };
        let of = |ejected, servers, elsewhere| PoolEjections { ejected, servers, elsewhere };
        rotation.recount(None, Some(one(0, false)));
        assert_eq!(rotation.ejections(false, 0), of(0, 1, 0));
        rotation.recount(None, Some(one(1, false)));
        assert_eq!((rotation.ejections(false, 0), rotation.ejections(false, 1)), (of(0, 1, 1), of(0, 1, 1)));
        rotation.recount(Some(one(0, false)), Some(one(0, true)));
        assert_eq!((rotation.ejections(false, 0), rotation.ejections(false, 1)), (of(1, 1, 1), of(0, 1, 0)));
        // The server's priority has changed.
        rotation.recount(Some(one(1, false)), Some(one(0, false)));
        assert_eq!((rotation.ejections(false, 0), rotation.ejections(false, 1)), (of(1, 2, 0), of(0, 0, 1)));
    }
}
