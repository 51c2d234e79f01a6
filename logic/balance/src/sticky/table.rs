//! A table that binds keys to servers, shared by all workers.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::StickyKey;
use super::shard::Shard;

/// The server that each key is bound to, shared by all workers.
///
/// The table never has more than [`StickyTableRule::entries_max`] entries. A further entry replaces the least
/// recently used one among about a thousand. The table has many shards, each with its own lock, which is held
/// for a few steps. So no worker waits for long, whatever the size.
#[derive(Debug)]
pub struct StickyTable {
    rule: StickyTableRule,
    /// Shards, selected by the key. The first `rule.entries_max % shards` of them may have one entry more
    /// than the others.
    shards: Box<[Mutex<Shard>]>,
    expired: AtomicU64,
    evicted: AtomicU64,
}

/// Limits of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StickyTableRule {
    /// Most entries, at least 1.
    pub entries_max: usize,
    /// Time after which an unused entry is removed, in milliseconds.
    pub expire_ms: u64,
}

/// Fill level of a table, and the numbers of entries that it removed by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StickyTableCounts {
    /// Number of entries, some of which may have expired.
    pub entries: u64,
    /// Most entries that the table may have.
    pub entries_max: u64,
    /// Number of entries that have expired.
    pub expired: u64,
    /// Number of entries removed for lack of room.
    pub evicted: u64,
}

const SHARD_ENTRIES: usize = 1024;
const SHARDS_MAX: usize = 1 << 14;

impl StickyTable {
    /// Creates an empty table.
    pub fn new(rule: StickyTableRule) -> Self {
        let rule = StickyTableRule { entries_max: rule.entries_max.max(1), ..rule };
        // A power of two, so that bits of a key select its shard.
        let shards = (rule.entries_max / SHARD_ENTRIES).max(1).next_power_of_two().min(SHARDS_MAX);
        Self {
            rule,
            shards: (0..shards).map(|_| Mutex::default()).collect(),
            expired: AtomicU64::new(0),
            evicted: AtomicU64::new(0),
        }
    }

    /// Returns the limits of the table.
    pub fn rule(&self) -> StickyTableRule {
        self.rule
    }

    /// Returns the server that `key` is bound to and marks the entry as used now. `now_ms` comes from a clock
    /// that never goes back, the same for all callers.
    pub fn find(&self, key: StickyKey, now_ms: u64) -> Option<u64> {
        let (found, expired) = self.shard(key).1.find(key, now_ms, self.rule.expire_ms);
        self.count(expired, false);
        found
    }

    /// Binds `key` to a server, replacing an earlier binding.
    pub fn bind(&self, key: StickyKey, server: u64, now_ms: u64) {
        let (index, mut shard) = self.shard(key);
        let entries_max = self.shard_entries_max(index);
        let (expired, evicted) = shard.bind(key, server, now_ms, self.rule.expire_ms, entries_max);
        drop(shard);
        self.count(expired, evicted);
    }

    /// Removes a key. Returns false if it was not known.
    pub fn forget(&self, key: StickyKey) -> bool {
        self.shard(key).1.forget(key)
    }

    /// Removes every key for whose server `stays` returns false. Returns how many. O(entries), one shard at a
    /// time.
    pub fn retain(&self, stays: impl Fn(u64) -> bool) -> usize {
        self.shards.iter().map(|shard| lock(shard).retain(&stays)).sum()
    }

    /// Returns the fill level. O(shards).
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

    /// Returns the most entries of one shard; the sum over all shards is exactly the table's limit.
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

/// Locks a shard. Nothing panics while holding the lock; if it does happen, a table that forgets a client is
/// no reason to stop.
fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}
