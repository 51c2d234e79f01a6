//! One shard of a sticky table.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use super::StickyKey;

/// Part of a sticky table behind one lock. Its entries are in the order of their last use, so that the oldest
/// is found at once.
#[derive(Debug)]
pub(super) struct Shard {
    places: HashMap<u128, u32, BuildHasherDefault<Spread>>,
    entries: Vec<Entry>,
    free: Vec<u32>,
    /// Entry used last; [`NONE`] = there are no entries.
    newest: u32,
    oldest: u32,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    key: u128,
    server: u64,
    used_ms: u64,
    newer: u32,
    older: u32,
}

const NONE: u32 = u32::MAX;
/// Most expired entries that one call removes, so that no call is slow after a quiet time.
const CLEARED_MAX: usize = 8;

impl Shard {
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    /// Returns the server of a key and marks the key as used now; also returns how many entries have expired.
    pub(super) fn find(&mut self, key: StickyKey, now_ms: u64, expire_ms: u64) -> (Option<u64>, usize) {
        let expired = self.clear_expired(now_ms, expire_ms);
        let Some(place) = self.places.get(&key.0).copied() else { return (None, expired) };
        let entry = &mut self.entries[place as usize];
        if is_expired(entry.used_ms, now_ms, expire_ms) {
            self.remove(place);
            return (None, expired + 1);
        }
        entry.used_ms = entry.used_ms.max(now_ms);
        let server = entry.server;
        self.move_to_front(place);
        (Some(server), expired)
    }

    /// Binds a key to a server. Returns how many entries have expired, and whether an unexpired one was
    /// evicted.
    pub(super) fn bind(
        &mut self,
        key: StickyKey,
        server: u64,
        now_ms: u64,
        expire_ms: u64,
        entries_max: usize,
    ) -> (usize, bool) {
        let expired = self.clear_expired(now_ms, expire_ms);
        if let Some(place) = self.places.get(&key.0).copied() {
            let entry = &mut self.entries[place as usize];
            entry.server = server;
            entry.used_ms = entry.used_ms.max(now_ms);
            self.move_to_front(place);
            return (expired, false);
        }
        let is_full = self.len() >= entries_max;
        if is_full && self.oldest != NONE {
            self.remove(self.oldest);
        }
        let entry = Entry { key: key.0, server, used_ms: now_ms, newer: NONE, older: NONE };
        let place = match self.free.pop() {
            Some(place) => {
                self.entries[place as usize] = entry;
                place
            }
            None => {
                self.entries.push(entry);
                (self.entries.len() - 1) as u32
            }
        };
        self.places.insert(key.0, place);
        self.link(place);
        (expired, is_full)
    }

    /// Removes a key. Returns false if it was not known.
    pub(super) fn forget(&mut self, key: StickyKey) -> bool {
        let place = self.places.get(&key.0).copied();
        place.into_iter().for_each(|place| self.remove(place));
        place.is_some()
    }

    /// Removes every key for whose server `stays` returns false. Returns how many.
    pub(super) fn retain(&mut self, stays: &dyn Fn(u64) -> bool) -> usize {
        let goes = |place: &u32| !stays(self.entries[*place as usize].server);
        let gone: Vec<u32> = self.places.values().copied().filter(goes).collect();
        gone.iter().for_each(|place| self.remove(*place));
        gone.len()
    }

    fn clear_expired(&mut self, now_ms: u64, expire_ms: u64) -> usize {
        let mut cleared = 0;
        while cleared < CLEARED_MAX
            && let Some(oldest) = self.entries.get(self.oldest as usize)
            && is_expired(oldest.used_ms, now_ms, expire_ms)
        {
            self.remove(self.oldest);
            cleared += 1;
        }
        cleared
    }

    fn remove(&mut self, place: u32) {
        self.unlink(place);
        self.places.remove(&self.entries[place as usize].key);
        self.free.push(place);
    }

    fn move_to_front(&mut self, place: u32) {
        if self.newest != place {
            self.unlink(place);
            self.link(place);
        }
    }

    fn link(&mut self, place: u32) {
        let older = self.newest;
        let entry = &mut self.entries[place as usize];
        (entry.newer, entry.older) = (NONE, older);
        match self.entries.get_mut(older as usize) {
            Some(older) => older.newer = place,
            None => self.oldest = place,
        }
        self.newest = place;
    }

    fn unlink(&mut self, place: u32) {
        let Entry { newer, older, .. } = self.entries[place as usize];
        match self.entries.get_mut(newer as usize) {
            Some(newer) => newer.older = older,
            None => self.newest = older,
        }
        match self.entries.get_mut(older as usize) {
            Some(older) => older.newer = newer,
            None => self.oldest = newer,
        }
    }
}

impl Default for Shard {
    fn default() -> Self {
        Self { places: HashMap::default(), entries: Vec::new(), free: Vec::new(), newest: NONE, oldest: NONE }
    }
}

fn is_expired(used_ms: u64, now_ms: u64, expire_ms: u64) -> bool {
    now_ms.saturating_sub(used_ms) >= expire_ms
}

/// Hasher for keys that are hashes already. It uses the upper half, because the lower half selects the shard.
#[derive(Debug, Default)]
pub(super) struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0.rotate_left(8) ^ u64::from(*byte));
    }

    fn write_u128(&mut self, key: u128) {
        self.0 = (key >> 64) as u64;
    }
}
