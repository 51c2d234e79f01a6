use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::StickyKey;
use super::shard::Shard;

/// Which server each key is bound to, for all workers together.
///
/// Never holds more than [`StickyTableRule::entries_max`] entries: a further one takes the place of the one that was not
/// used for longest, among about a thousand. It is made of many shards, each behind a lock of its own that is held for
/// a handful of steps, so that no worker waits for long whatever the size.
#[derive(Debug)]
pub struct StickyTable {
    rule: StickyTableRule,
    /// How many entries the first shards may have; the first `rule.entries_max % shards` may have one more.
    shards: Box<[Mutex<Shard>]>,
    expired: AtomicU64,
    evicted: AtomicU64,
}

/// What a table may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StickyTableRule {
    /// At least 1.
    pub entries_max: usize,
    /// An entry that was not used for so long is forgotten.
    pub expire_ms: u64,
}

/// How full a table is, and what it has forgotten by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StickyTableCounts {
    /// Entries, some of which may have expired.
    pub entries: u64,
    /// What `entries` may be at most.
    pub entries_max: u64,
    /// Entries that have expired.
    pub expired: u64,
    /// Entries that went for lack of room.
    pub evicted: u64,
}

const SHARD_ENTRIES: usize = 1024;
const SHARDS_MAX: usize = 1 << 14;

impl StickyTable {
    /// An empty table.
    pub fn new(rule: StickyTableRule) -> Self {
        let rule = StickyTableRule { entries_max: rule.entries_max.max(1), ..rule };
        // A power of two, so that the bits of a key tell its shard.
        let shards = (rule.entries_max / SHARD_ENTRIES).max(1).next_power_of_two().min(SHARDS_MAX);
        Self {
            rule,
            shards: (0..shards).map(|_| Mutex::default()).collect(),
            expired: AtomicU64::new(0),
            evicted: AtomicU64::new(0),
        }
    }

    /// What it may hold.
    pub fn rule(&self) -> StickyTableRule {
        self.rule
    }

    /// The server that `key` is bound to; the entry counts as used now. `now_ms` is any clock that does not go back, the
    /// same for all callers.
    pub fn find(&self, key: StickyKey, now_ms: u64) -> Option<u64> {
        let (found, expired) = self.shard(key).1.find(key, now_ms, self.rule.expire_ms);
        self.count(expired, false);
        found
    }

    /// Binds `key` to a server, in place of what it was bound to.
    pub fn bind(&self, key: StickyKey, server: u64, now_ms: u64) {
        let (index, mut shard) = self.shard(key);
        let entries_max = self.shard_entries_max(index);
        let (expired, evicted) = shard.bind(key, server, now_ms, self.rule.expire_ms, entries_max);
        drop(shard);
        self.count(expired, evicted);
    }

    /// Forgets a key. False if it was not known.
    pub fn forget(&self, key: StickyKey) -> bool {
        self.shard(key).1.forget(key)
    }

    /// Forgets every key whose server does not `stay`. Returns how many. O(entries), a shard at a time.
    pub fn retain(&self, stays: impl Fn(u64) -> bool) -> usize {
        self.shards.iter().map(|shard| lock(shard).retain(&stays)).sum()
    }

    /// How full it is. O(shards).
    pub fn counts(&self) -> StickyTableCounts {
        StickyTableCounts {
            entries: self.shards.iter().map(|shard| lock(shard).len() as u64).sum(),
            entries_max: self.rule.entries_max as u64,
            expired: self.expired.load(Relaxed),
            evicted: self.evicted.load(Relaxed),
        }
    }

    fn shard(&self, key: StickyKey) -> (usize, MutexGuard<'_, Shard>) {
        let index = key.0 as usize & (self.shards.len() - 1);
        (index, lock(&self.shards[index]))
    }

    /// Together exactly the table's.
    fn shard_entries_max(&self, index: usize) -> usize {
        let (each, rest) =
            (self.rule.entries_max / self.shards.len(), self.rule.entries_max % self.shards.len());
        each + usize::from(index < rest)
    }

    fn count(&self, expired: usize, evicted: bool) {
        if expired > 0 {
            self.expired.fetch_add(expired as u64, Relaxed);
        }
        if evicted {
            self.evicted.fetch_add(1, Relaxed);
        }
    }
}

/// Nothing panics while a lock is held; should it, a table that forgets a client is no reason to stop.
fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}
