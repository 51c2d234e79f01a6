//! IPVS's locality-based least connections, without and with replication (ip_vs_lblc.c, ip_vs_lblcr.c): a key stays with the
//! server, or the set of servers, that it was given to, until these have too much to do and another has little.
//!
//! The memory of who has which key is shared by all workers, and outlives a change of servers. It is cut into shards, each
//! behind a lock that is held for one look-up (and now and then for a sweep over a few hundred entries). Nobody waits for a
//! lock: who finds it taken chooses the least loaded server and remembers nothing.
//!
//! Where this differs from the kernel: its table is counted and swept as a whole, here each shard is by itself, so that one may be swept
//! while all together have fewer keys than are wanted; its table has no limit between two sweeps, here the half of a shard that was not asked
//! for longest goes when the shard is full; a set has 16 servers at most; a server that is full does not count among those that have
//! little to do; the expiry timers run when a shard is used, not by themselves.

mod members;
mod shard;
mod table;

use std::sync::{Mutex, TryLockError};

use crate::mix::mix;
use crate::{Key, Portion, Roster};

use shard::{Member, Shard};

/// Who has which key.
#[derive(Debug)]
pub(crate) struct Localities(Box<[Mutex<Shard>]>);

/// What one choice goes by.
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
    /// lblc. None if somebody else holds the key's shard, or nobody has room.
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

    /// lblcr. None as above.
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

    /// How many keys there are.
    #[cfg(test)]
    fn len(&self) -> usize {
        self.0.iter().map(|shard| shard.lock().unwrap().len()).sum()
    }
}

/// A number that stands for the key; IPv4 addresses all have different ones.
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

/// Which of the servers of one time it is: of what tells them apart so much as differs between any two.
fn identity(candidate: &crate::Candidate) -> u32 {
    const ALIGNMENT_BITS: u32 = 4;
    (candidate.identity() >> ALIGNMENT_BITS) as u32
}

impl Request<'_> {
    fn member(&self, slot: usize) -> Member {
        let server = self.roster.candidate(slot).map_or(0, identity);
        Member { slot: u32::try_from(slot).unwrap_or(u32::MAX), server }
    }

    /// The slot of a remembered server that is still the same, is up, has room and has not failed this request.
    fn usable(&self, member: &Member) -> Option<usize> {
        let slot = member.slot as usize;
        let candidate =
            self.roster.candidate(slot).filter(|candidate| identity(candidate) == member.server)?;
        let usable = self.roster.is_member(candidate.slot) && self.roster.is_open(slot, self.exclude);
        usable.then_some(slot)
    }

    /// Requests and what counts of the weight, both in thousandths.
    fn load(&self, slot: usize) -> (u64, u64) {
        let whole = u64::from(Portion::WHOLE.get());
        let load = |candidate: &crate::Candidate| {
            (u64::from(candidate.load.active()) * whole, u64::from(candidate.share()))
        };
        self.roster.candidate(slot).map_or((0, 0), load)
    }

    /// Weighted least connections over all servers: the newest of equals is not sought, but the first in the pool's order.
    fn least(&self) -> Option<usize> {
        self.roster.least_loaded(self.exclude)
    }

    /// ip_vs_dest_set_min: the first with the fewest requests for its weight.
    fn least_of(&self, members: &[Member]) -> Option<usize> {
        let usable = members.iter().filter_map(|member| self.usable(member));
        usable.reduce(|best, slot| if self.is_less(slot, best) { slot } else { best })
    }

    /// ip_vs_dest_set_max: the place in the set of the first with the most requests for its weight; one that has gone is not
    /// needed at all.
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

    /// The slot of a remembered server that is still the same.
    fn known(&self, member: &Member) -> Option<usize> {
        let slot = member.slot as usize;
        self.roster.candidate(slot).filter(|candidate| identity(candidate) == member.server).map(|_| slot)
    }

    /// Compares active / weight crosswise.
    fn is_less(&self, slot: usize, than: usize) -> bool {
        let ((active, weight), (other_active, other_weight)) = (self.load(slot), self.load(than));
        active * other_weight < other_active * weight
    }

    /// is_overloaded: it has more requests than it weighs, and another has fewer than half of what it weighs. That one is the
    /// least loaded, if it is anyone.
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
