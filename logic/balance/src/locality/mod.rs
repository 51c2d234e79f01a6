//! IPVS's locality-based least connections, without and with replication (ip_vs_lblc.c, ip_vs_lblcr.c). A key
//! stays with its server, or its set of servers, until these are overloaded while another has little load.
//!
//! All workers share the table of keys, and it survives a change of servers. It is divided into shards. Each
//! has a lock, held for one look-up (and now and then for a sweep over a few hundred entries). A worker never
//! waits for a lock: if the lock is taken, it picks the least loaded server and stores nothing.
//!
//! Differences from the kernel:
//! - The kernel counts and sweeps its table as a whole. Here each shard is swept by itself, possibly while
//!   the total number of keys is still below the wanted one.
//! - The kernel's table has no limit between two sweeps. Here a full shard drops the half that was unused for
//!   longest.
//! - A set has at most 16 servers.
//! - A full server does not count as one with little load.
//! - Expiry runs when a shard is used, not on timers.

mod members;
mod shard;
mod table;

use std::sync::{Mutex, TryLockError};

use crate::mix::mix;
use crate::{Key, Portion, Roster};

use shard::{Member, Shard};

/// The servers of all keys.
#[derive(Debug)]
pub(crate) struct Localities(Box<[Mutex<Shard>]>);

/// Inputs of one choice.
pub(crate) struct Request<'a> {
    pub(crate) roster: &'a Roster,
    pub(crate) key: Key,
    /// Servers that have failed the request.
    pub(crate) exclude: &'a [usize],
    pub(crate) now_ms: u64,
}

const SHARDS: usize = 64;

impl Default for Localities {
    fn default() -> Self {
        Self((0..SHARDS).map(|_| Mutex::default()).collect())
    }
}

impl Localities {
    /// Picks a server by lblc. Returns `None` if another worker holds the key's shard, or if no server has
    /// room.
    pub(crate) fn lblc(&self, request: &Request<'_>) -> Option<usize> {
        self.with_shard(request, |shard, id| {
            let cached = shard.touch(id, request.now_ms).and_then(|entry| entry.members.as_slice().first());
            if let Some(slot) = cached.and_then(|member| request.usable(member))
                && !request.is_overloaded(slot)
            {
                return Some(slot);
            }
            let least = request.least()?;
            shard.set(id, request.member(least), request.now_ms);
            Some(least)
        })
    }

    /// Picks a server by lblcr. Returns `None` as [`Localities::lblc`] does.
    pub(crate) fn lblcr(&self, request: &Request<'_>) -> Option<usize> {
        let (now, expiration) = (request.now_ms, request.roster.scheduling().hash.expiration.0);
        self.with_shard(request, |shard, id| {
            let Some(entry) = shard.touch(id, now) else {
                let least = request.least()?;
                shard.set(id, request.member(least), now);
                return Some(least);
            };
            let chosen = request.least_of(entry.members.as_slice());
            if entry.members.as_slice().len() > 1 && now > entry.changed_ms.saturating_add(expiration) {
                entry.remove(request.most_of(entry.members.as_slice()), now);
            }
            if let Some(slot) = chosen.filter(|slot| !request.is_overloaded(*slot)) {
                return Some(slot);
            }
            let least = request.least()?;
            let most = request.most_of(entry.members.as_slice());
            entry.add(request.member(least), most, now);
            Some(least)
        })
    }

    fn with_shard(
        &self,
        request: &Request<'_>,
        choose: impl FnOnce(&mut Shard, u64) -> Option<usize>,
    ) -> Option<usize> {
        let id = id_of(request.key);
        let mut shard = match self.0[(id % SHARDS as u64) as usize].try_lock() {
            Ok(shard) => shard,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        shard.expire(request.now_ms, request.roster.scheduling().hash.expiration.0);
        choose(&mut shard, id)
    }

    /// Returns the number of keys.
    #[cfg(test)]
    fn len(&self) -> usize {
        self.0.iter().map(|shard| shard.lock().unwrap().len()).sum()
    }
}

/// Returns a number that identifies the key; different IPv4 addresses have different numbers.
fn id_of(key: Key) -> u64 {
    match key {
        Key::Address(address, port) => {
            let bits = match address.to_canonical() {
                std::net::IpAddr::V4(address) => u64::from(address.to_bits()),
                std::net::IpAddr::V6(address) => {
                    let bits = address.to_bits();
                    mix((bits >> 64) as u64).wrapping_add(bits as u64)
                }
            };
            mix(bits ^ u64::from(port) << 48)
        }
        Key::Digest(digest) => mix(u64::from(digest.bytes) << 32 | u64::from(digest.hash)),
    }
}

/// Returns a number that differs between any two servers alive at the same time: the significant bits of
/// their identity.
fn identity(candidate: &crate::Candidate) -> u32 {
    const ALIGNMENT_BITS: u32 = 4;
    (candidate.identity() >> ALIGNMENT_BITS) as u32
}

impl Request<'_> {
    fn member(&self, slot: usize) -> Member {
        let server = self.roster.candidate(slot).map_or(0, identity);
        Member { slot: u32::try_from(slot).unwrap_or(u32::MAX), server }
    }

    /// Returns the slot of a stored server if it is still the same, is up, has room and has not failed this
    /// request.
    fn usable(&self, member: &Member) -> Option<usize> {
        let slot = member.slot as usize;
        let candidate =
            self.roster.candidate(slot).filter(|candidate| identity(candidate) == member.server)?;
        let usable = self.roster.is_member(candidate.slot) && self.roster.is_open(slot, self.exclude);
        usable.then_some(slot)
    }

    /// Returns requests and share, both in thousandths.
    fn load(&self, slot: usize) -> (u64, u64) {
        let whole = u64::from(Portion::WHOLE.get());
        let load = |candidate: &crate::Candidate| {
            (u64::from(candidate.load.active()) * whole, u64::from(candidate.share()))
        };
        self.roster.candidate(slot).map_or((0, 0), load)
    }

    /// Returns the server with the fewest requests relative to its weight. Of equals it is the first in the
    /// pool's order, not the newest.
    fn least(&self) -> Option<usize> {
        self.roster.least_loaded(self.exclude)
    }

    /// Returns the first server with the fewest requests relative to its weight (ip_vs_dest_set_min).
    fn least_of(&self, members: &[Member]) -> Option<usize> {
        let usable = members.iter().filter_map(|member| self.usable(member));
        usable.reduce(|best, slot| if self.is_less(slot, best) { slot } else { best })
    }

    /// Returns the index of the first server with the most requests relative to its weight
    /// (ip_vs_dest_set_max). A server that no longer exists comes before all others.
    fn most_of(&self, members: &[Member]) -> usize {
        let slot = |place: usize| members.get(place).and_then(|member| self.known(member));
        if let Some(gone) = (0..members.len()).find(|place| slot(*place).is_none()) {
            return gone;
        }
        let is_more = |place: usize, most: usize| {
            slot(most).zip(slot(place)).is_some_and(|(most, new)| self.is_less(most, new))
        };
        (0..members.len()).reduce(|most, place| if is_more(place, most) { place } else { most }).unwrap_or(0)
    }

    /// Returns the slot of a stored server if it is still the same.
    fn known(&self, member: &Member) -> Option<usize> {
        let slot = member.slot as usize;
        self.roster.candidate(slot).filter(|candidate| identity(candidate) == member.server).map(|_| slot)
    }

    /// Compares active / weight crosswise.
    fn is_less(&self, slot: usize, than: usize) -> bool {
        let ((active, weight), (other_active, other_weight)) = (self.load(slot), self.load(than));
        active * other_weight < other_active * weight
    }

    /// Returns true if the server has more requests than its weight, while another has fewer than half its
    /// weight (is_overloaded). If there is such a server, the least loaded one is.
    fn is_overloaded(&self, slot: usize) -> bool {
        let (active, weight) = self.load(slot);
        let idle = |slot: usize| {
            let (active, weight) = self.load(slot);
            active * 2 < weight
        };
        active > weight && self.roster.least_loaded(&[]).is_some_and(idle)
    }
}

#[cfg(test)]
mod tests;
